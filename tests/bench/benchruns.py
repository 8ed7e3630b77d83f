# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which pipelines are timed. A run is a dict: label, group, filter, format, size, and what bench_pipeline is told."""

import os

GPU_CAPS = 'video/x-raw(memory:CUDAMemory)'
SIZES = ('640x480', '1280x720', '1920x1080', '3840x2160', '7680x4320')


def pipeline_run(label, filter_, fmt='I420', size='1920x1080', group='', **more):
    return {'label': label, 'group': group, 'filter': filter_, 'format': fmt, 'size': size, **more}


def format_runs(add, backend, quick):
    own = f'cudasobel backend={backend}'
    for fmt in ('GRAY8', 'I420', 'NV12', 'RGB', 'RGBA'):
        for size in SIZES:
            every_size = fmt in ('I420', 'RGB')
            if size == '1920x1080' or (not quick and every_size):
                add(f'{backend} {fmt} {size}', own, fmt, size, group='formats')
    for fmt in ('I420', 'RGB'):
        add(f'{backend} {fmt} read in full', own, fmt, read='all', group='readers')
        add(f'{backend} {fmt} own memory', own, fmt, own=True, group='readers')
        add(f'{backend} {fmt} overlay', own + ' mode=overlay', fmt, nocheck=True, group='modes')
        if not quick:
            add(f'{backend} {fmt} mask', own + ' mode=mask', fmt, nocheck=True, group='modes')
            add(f'{backend} {fmt} direction', own + ' mode=direction', fmt, nocheck=True, group='modes')


def load_runs(add, backend):
    own = f'cudasobel backend={backend}'
    for n in (1, 2, 4, 8, 16, 64):
        add(f'{backend} {n} elements', own, elements=n, group='elements', seconds=1.0)
    for fps in (30, 60) if backend == 'cuda' else (30,):
        for fmt, name, size in (('I420', '1080p', '1920x1080'), ('RGB', '1080p', '1920x1080'),
                                ('RGB', '2160p', '3840x2160')):
            add(f'{backend} live {fps} fps {fmt} {name}', own, fmt, size, live=fps, frames=fps * 3, warmup=fps,
                group='live')
    add(f'{backend} live 20 fps RGB 4320p', own, 'RGB', '7680x4320', live=20, frames=50, warmup=10, group='live')


def gpu_runs(add, quick):
    for ring in (1, 4) if quick else (1, 2, 3, 4, 6, 8):
        for fmt in ('I420', 'RGB'):
            add(f'ring-size {ring} {fmt}', f'cudasobel backend=cuda ring-size={ring}', fmt, group='ring', at=ring)
    for streams in (1, 4) if quick else (1, 2, 3, 4):
        for fmt in ('I420', 'RGB'):
            add(f'streams {streams} {fmt}', f'cudasobel backend=cuda streams={streams}', fmt, group='streams',
                at=streams)
    for strips in (1, 0) if quick else (1, 2, 4, 8, 16, 0):
        add(f'strips {strips} one RGB frame of 4320p', f'cudasobel backend=cuda ring-size=1 strips={strips}', 'RGB',
            '7680x4320', group='strips', at=strips or 'auto')
    if quick:
        return
    for kernel in ('naive', 'constant', 'shared', 'fused'):
        for fmt, size in (('I420', '1920x1080'), ('RGB', '3840x2160')):
            add(f'kernel {kernel} {fmt} {size}', f'cudasobel backend=cuda kernel={kernel}', fmt, size, group='kernels')
    for fmt in ('NV12', 'RGBA'):
        add(f'{fmt} through GPU memory',
            f'cudaupload ! {GPU_CAPS} ! cudasobel backend=cuda ! {GPU_CAPS} ! cudadownload', fmt, own=True,
            group='GPU memory')


def pipeline_runs(gpu, quick):
    """Every whole pipeline of our own. `gpu`: there is one."""
    runs = []

    def add(*args, **more):
        runs.append(pipeline_run(*args, **more))

    for backend in (['cuda'] if gpu else []) + ['cpu']:
        format_runs(add, backend, quick)
        if not quick:
            load_runs(add, backend)
        if backend == 'cuda':
            gpu_runs(add, quick)
    for threads in (1, 2, 4, 8, 16):
        if threads <= (os.cpu_count() or 1) and not (quick and threads > 1):
            add(f'n-threads {threads}', f'cudasobel backend=cpu n-threads={threads}', group='threads', at=threads)
            if not quick:
                add(f'n-threads {threads} RGB', f'cudasobel backend=cpu n-threads={threads}', 'RGB', group='threads',
                    at=threads)
    return runs


# Other filters in the same harness: same source, same sink. Not all answer the same question; docs/benchmarks says.
# From memory of the source's own every frame is uploaded anew; in a pool that a GPU element proposes, frames that are
# sent again may lie on the GPU already.
GL = 'glupload ! gleffects_sobel ! gldownload'
PEERS = [
    ('identity (no filter)', 'identity', 'RGB', 'nothing: what source and sink cost', False),
    ('cvsobel', 'cvsobel mask=false', 'RGB', 'one direction only', False),
    ('cvsobel and videoconvert', 'videoconvert ! cvsobel mask=false ! videoconvert', 'I420', 'one direction only',
     False),
    ('edgedetect', 'edgedetect mask=false', 'RGB', 'Canny: thinned edges', False),
    ('edgetv', 'edgetv', 'RGBx', 'an effect of its own', False),
    ('gleffects_sobel', GL, 'RGBA', 'gradient of gray in floats, GPU', False),
    ('gleffects_sobel, own memory', GL, 'RGBA', 'gradient of gray in floats, GPU', True),
    ('cudaupload ! cudadownload', f'cudaupload ! {GPU_CAPS} ! cudadownload', 'RGBA',
     'nothing: the way to the GPU and back', True),
    ('cudasobel', 'cudasobel', 'RGBA', 'magnitude, exact', False),
    ('cudasobel, own memory', 'cudasobel', 'RGBA', 'magnitude, exact', True),
    ('cudasobel RGB', 'cudasobel', 'RGB', 'magnitude, exact', False),
]


def peer_pipelines():
    return [pipeline_run('peer ' + name, filter_, fmt, nocheck=True, group='peers', meaning=meaning, own=own)
            for name, filter_, fmt, meaning, own in PEERS]


def pipeline_command(program, run, quick):
    """A run's command line. A pipeline is measured by time, so that a slow one does not take longer than a fast one."""
    width, height = (int(n) for n in run['size'].split('x'))
    large = width * height > 10_000_000
    command = [str(program), '--filter', run['filter'], '--format', run['format'], '--size', run['size'],
               '--label', run['label'], '--elements', str(run.get('elements', 1)), '--read', run.get('read', 'stamp'),
               '--timeout', '60']
    if run.get('live'):
        command += ['--live', str(run['live']), '--frames', str(run['frames']), '--warmup', str(run['warmup'])]
    else:
        seconds = run.get('seconds', 0.5) * (0.6 if quick else 1)
        command += ['--frames', '200000', '--warmup', '4' if large else '20', '--warmup-seconds', '0.15',
                    '--seconds', str(seconds)]
    if run.get('own'):
        command.append('--own-memory')
    if run.get('nocheck'):
        command.append('--no-check')
    return command
