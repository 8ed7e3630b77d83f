#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The whole measurement, one command: kernels, CPU, pipelines, peers.

usage: bench.py --bin DIR [--out DIR] [--quick] [--only SUITE[,SUITE]] [--resume]

DIR holds the programs bench_kernels, bench_cpu and bench_pipeline (a build's tests/bench, or a GPU bundle's app
folder); what is not there is a row that says so. Every run is written to OUT/results.json at once, so that a run
that was cut short loses nothing; --resume goes on behind it. At the end report.py makes tables and plots of it.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SUITES = ('kernels', 'cpu', 'pipeline', 'peers')


class Results:
    """The rows so far, always on disk."""

    def __init__(self, path, resume):
        self.path = path
        self.data = {'host': describe_host(), 'rows': []}
        if resume and path.exists():
            self.data = json.loads(path.read_text())

    def add(self, row):
        self.data['rows'].append(row)
        self.path.write_text(json.dumps(self.data, indent=1) + '\n')

    def has(self, suite, label):
        return any(r['suite'] == suite and r.get('label') == label for r in self.data['rows'])


def first_line(command):
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ''
    return out.stdout.strip().split('\n')[0] if out.returncode == 0 else ''


def cpu_model():
    try:
        for line in open('/proc/cpuinfo'):
            if line.startswith('model name'):
                return line.split(':', 1)[1].strip()
    except OSError:
        pass
    return platform.processor()


def gpu_state():
    """Clocks, temperature and reasons for throttling, as the driver tells them."""
    query = 'clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_event_reasons.active'
    return first_line(['nvidia-smi', '--query-gpu=' + query, '--format=csv,noheader'])


def describe_host():
    return {
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d'),
        'cpu': cpu_model(),
        'cores': os.cpu_count(),
        'gpu': first_line(['nvidia-smi', '--query-gpu=name', '--format=csv,noheader']) or 'none',
        'driver': first_line(['nvidia-smi', '--query-gpu=driver_version', '--format=csv,noheader']) or 'none',
        'gstreamer': first_line(['gst-launch-1.0', '--version']).split(' ')[-1],
        'gpu_state': gpu_state(),
    }


def progress(done, total, what):
    text = f'[{done:3d}/{total}] {what}'
    if sys.stderr.isatty():
        sys.stderr.write('\r\x1b[K' + text[:110])
        if done == total:
            sys.stderr.write('\n')
    else:
        sys.stderr.write(text + '\n')
    sys.stderr.flush()


def json_lines(command, env=None, timeout=600):
    """The JSON lines that a program prints, and what went wrong, if anything."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env)
    except FileNotFoundError:
        return [], 'not built or not installed'
    except subprocess.TimeoutExpired:
        return [], f'no answer within {timeout} s'
    rows = [json.loads(line) for line in run.stdout.split('\n') if line.startswith('{')]
    if run.returncode == 77:
        return rows, 'skipped: ' + (run.stderr.strip().split('\n')[-1] or 'not possible here')
    if run.returncode != 0:
        return rows, (run.stderr.strip().split('\n') or ['failed'])[-1][:300]
    return rows, ''


# ---- what is run ------------------------------------------------------------------------------------


def pipeline_run(label, filter_, fmt='I420', size='1920x1080', frames=None, group='', **more):
    width, height = (int(n) for n in size.split('x'))
    if frames is None:
        # About half a second on a GPU; the CPU has a twentieth of that rate.
        frames = max(200, min(10000, int(2e10 / (width * height * 3))))
        if 'backend=cpu' in filter_:
            frames = max(60, frames // 10)
    return {'label': label, 'group': group, 'filter': filter_, 'format': fmt, 'size': size, 'frames': frames, **more}


def pipeline_runs(gpu, quick):
    """Every whole pipeline that is timed. `gpu`: there is one."""
    backends = (['cuda'] if gpu else []) + ['cpu']
    runs = []

    def add(*args, **more):
        runs.append(pipeline_run(*args, **more))

    for backend in backends:
        own = f'cudasobel backend={backend}'
        for fmt in ('GRAY8', 'I420', 'NV12', 'RGB', 'RGBA'):
            for size in ('640x480', '1920x1080', '3840x2160', '7680x4320'):
                if quick and size not in ('1920x1080',):
                    continue
                add(f'{backend} {fmt} {size}', own, fmt, size, group='formats')
        add(f'{backend} I420 1080p read in full', own, read='all', group='readers')
        add(f'{backend} RGB 1080p read in full', own, 'RGB', read='all', group='readers')
        add(f'{backend} I420 1080p own memory', own, own=True, group='readers')
        add(f'{backend} RGB 1080p own memory', own, 'RGB', own=True, group='readers')
        for fmt in ('I420', 'RGB'):
            add(f'{backend} overlay {fmt} 1080p', own + ' mode=overlay', fmt, nocheck=True, group='modes')
            add(f'{backend} mask {fmt} 1080p', own + ' mode=mask', fmt, nocheck=True, group='modes')
            add(f'{backend} direction {fmt} 1080p', own + ' mode=direction', fmt, nocheck=True, group='modes')
        if quick:
            continue
        for n in (1, 2, 4, 8, 16, 64):
            add(f'{backend} {n} elements', own, frames=max(200, 4000 // n), elements=n, group='elements')
        for fps in (30, 60):
            add(f'{backend} live {fps} fps', own, frames=fps * 4, warmup=fps, live=fps, group='live')
        add(f'{backend} live 30 fps RGB 2160p', own, 'RGB', '3840x2160', frames=90, warmup=30, live=30, group='live')
    if gpu:
        for ring in (1, 2, 3, 4, 6, 8):
            for fmt in ('I420', 'RGB'):
                add(f'ring {ring} {fmt}', f'cudasobel backend=cuda ring-size={ring}', fmt, group='ring')
        for streams in (1, 2, 3, 4, 8) if not quick else (1, 4):
            add(f'streams {streams}', f'cudasobel backend=cuda streams={streams}', group='streams')
        for strips in (1, 2, 4, 8, 16, 0) if not quick else (1, 0):
            add(f'strips {strips}', f'cudasobel backend=cuda ring-size=1 strips={strips}', 'RGB', '7680x4320', frames=200,
                warmup=20, group='strips')
        for kernel in ('naive', 'constant', 'shared', 'fused'):
            add(f'kernel {kernel}', f'cudasobel backend=cuda kernel={kernel}', 'RGB', group='kernels')
    else:
        for threads in (1, 2, 4, 8, 16):
            if threads <= (os.cpu_count() or 1):
                add(f'threads {threads}', f'cudasobel backend=cpu n-threads={threads}', group='threads')
    return runs


def peer_pipelines(quick):
    """Other filters in the same harness: same source, same sink. They answer other questions; see docs/benchmarks."""
    frames = 200 if quick else 400
    peers = [
        ('identity (no filter)', 'identity', 'RGB'),
        ('cvsobel', 'cvsobel mask=false', 'RGB'),
        ('edgedetect', 'edgedetect mask=false', 'RGB'),
        ('edgetv', 'edgetv', 'RGBx'),
        ('gleffects_sobel', 'glupload ! gleffects_sobel ! gldownload', 'RGBA'),
        ('cudaupload ! cudadownload (no filter)', 'cudaupload ! cudadownload', 'RGBA'),
        ('cudasobel', 'cudasobel', 'RGBA'),
    ]
    return [pipeline_run(name, filter_, fmt, frames=frames, warmup=40, nocheck=True, read='stamp', group='peers')
            for name, filter_, fmt in peers]


def pipeline_command(program, run):
    command = [str(program), '--filter', run['filter'], '--format', run['format'], '--size', run['size'],
               '--frames', str(run['frames']), '--warmup', str(run.get('warmup', max(20, run['frames'] // 10))),
               '--label', run['label'], '--elements', str(run.get('elements', 1)), '--read', run.get('read', 'stamp')]
    if run.get('own'):
        command.append('--own-memory')
    if run.get('nocheck'):
        command.append('--no-check')
    if run.get('live'):
        command += ['--live', str(run['live'])]
    return command


def run_pipelines(results, program, runs, repeats):
    """Repeats interleaved, so that a slow moment of the machine does not fall on one row alone; the median counts."""
    runs = [r for r in runs if not results.has('pipeline', r['label'])]
    seen = {run['label']: [] for run in runs}
    failed = {}
    for repeat in range(repeats):
        for i, run in enumerate(runs):
            progress(repeat * len(runs) + i + 1, repeats * len(runs), run['label'])
            if run['label'] in failed:
                continue
            rows, error = json_lines(pipeline_command(program, run))
            if error:
                failed[run['label']] = error
            else:
                seen[run['label']] += rows
    for run in runs:
        rows = sorted(seen[run['label']], key=lambda r: r['fps'])
        if run['label'] in failed:
            row = {**run, 'error': failed[run['label']]}
        else:
            row = {**run, **rows[len(rows) // 2], 'fps_all': [r['fps'] for r in rows]}
        results.add({'suite': 'pipeline', **row})


def run_program(results, suite, command, timeout):
    if any(r['suite'] == suite for r in results.data['rows']):
        return
    progress(1, 1, ' '.join(str(c) for c in command))
    rows, error = json_lines([str(c) for c in command], timeout=timeout)
    for row in rows:
        results.add({'suite': suite, **row})
    if error:
        results.add({'suite': suite, 'label': pathlib.Path(str(command[-1 if suite == 'peers' else 0])).name,
                     'error': error})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, required=True)
    parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('bench-results'))
    parser.add_argument('--quick', action='store_true', help='about a minute: 1080p only, fewer samples')
    parser.add_argument('--only', default=','.join(SUITES), help='suites, of ' + ', '.join(SUITES))
    parser.add_argument('--resume', action='store_true')
    parser.add_argument('--repeats', type=int, help='of every pipeline (default 3, quick 1)')
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    results = Results(args.out / 'results.json', args.resume)
    only = args.only.split(',')
    gpu = results.data['host']['gpu'] != 'none'
    quick = ['--quick'] if args.quick else []
    started = time.monotonic()

    if 'kernels' in only:
        run_program(results, 'kernels', [args.bin / 'bench_kernels', '--json', *quick], 1200)
    if 'cpu' in only:
        run_program(results, 'cpu', [args.bin / 'bench_cpu', '--json', *quick], 1200)
    if 'peers' in only:
        run_program(results, 'peers', [sys.executable, HERE / 'peers.py', *quick], 1200)
    if 'pipeline' in only:
        runs = pipeline_runs(gpu, args.quick) + (peer_pipelines(args.quick) if 'peers' in only else [])
        run_pipelines(results, args.bin / 'bench_pipeline', runs, args.repeats or (1 if args.quick else 3))
    results.data['host']['gpu_state_after'] = gpu_state()
    results.data['seconds'] = round(time.monotonic() - started)
    results.path.write_text(json.dumps(results.data, indent=1) + '\n')
    print(f'{results.path}: {len(results.data["rows"])} rows in {results.data["seconds"]} s')
    report = [sys.executable, str(HERE / 'report.py'), str(results.path), '--out', str(args.out)]
    return subprocess.run(report).returncode


if __name__ == '__main__':
    sys.exit(main())
