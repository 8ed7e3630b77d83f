#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times what a user would otherwise pick: OpenCV, NPP, PyTorch, CuPy, FFmpeg; each where it is installed.

One JSON line a peer and size: median and interquartile range in us, what it computes, whether frames cross the bus.
usage: peers.py [--quick]
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import ffmpegpeer

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {'1920x1080': (1920, 1080), '3840x2160': (3840, 2160), '7680x4320': (7680, 4320)}


def emit(peer, size, samples_us, meaning, transfers, **more):
    q = statistics.quantiles(samples_us, n=4) if len(samples_us) > 1 else [samples_us[0]] * 3
    print(json.dumps({'label': f'{peer} {size}', 'peer': peer, 'size': size, 'median_us': round(q[1], 2),
                      'iqr_us': round(q[2] - q[0], 2), 'samples': len(samples_us), 'meaning': meaning,
                      'transfers': transfers, **more}), flush=True)


def absent(peer, why):
    print(json.dumps({'label': peer, 'peer': peer, 'error': str(why)[:200]}), flush=True)


def host_samples(function, n):
    function()
    samples = []
    for _ in range(n):
        start = time.perf_counter()
        function()
        samples.append((time.perf_counter() - start) * 1e6)
    return samples


def opencv(sizes, n):
    try:
        import cv2
        import numpy
    except ImportError as error:
        return absent('OpenCV', error)

    for name, (width, height) in sizes.items():
        gray = numpy.random.default_rng(1).integers(0, 256, (height, width), dtype=numpy.uint8)

        def full():
            gx = cv2.Sobel(gray, cv2.CV_32F, 1, 0, ksize=3, borderType=cv2.BORDER_REPLICATE)
            gy = cv2.Sobel(gray, cv2.CV_32F, 0, 1, ksize=3, borderType=cv2.BORDER_REPLICATE)
            return cv2.convertScaleAbs(cv2.magnitude(gx, gy))

        version = f'OpenCV {cv2.__version__}'
        emit(f'{version} magnitude', name, host_samples(full, n), 'two Sobel, magnitude, to 8 bit (rounded)', False,
             where=f'CPU, {cv2.getNumThreads()} threads')
        emit(f'{version} spatialGradient', name, host_samples(lambda: cv2.spatialGradient(gray), n),
             'gx and gy only, 16 bit', False, where=f'CPU, {cv2.getNumThreads()} threads')


def torch_peer(sizes, n):
    try:
        import torch
    except ImportError as error:
        return absent('PyTorch', error)
    if not torch.cuda.is_available():
        return absent('PyTorch', 'no GPU')
    kernel = torch.tensor([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=torch.float32, device='cuda')
    weight = torch.stack([kernel, kernel.T]).unsqueeze(1)

    def sobel(x):
        g = torch.nn.functional.conv2d(torch.nn.functional.pad(x.float(), (1, 1, 1, 1), mode='replicate'), weight)
        return g.square().sum(1, keepdim=True).sqrt().clamp(max=255).to(torch.uint8)

    for name, (width, height) in sizes.items():
        x = torch.randint(0, 256, (1, 1, height, width), dtype=torch.uint8, device='cuda')
        for label, function in (('eager', sobel), ('compiled', torch.compile(sobel))):
            try:
                for _ in range(5):
                    function(x)
                samples = []
                for _ in range(n):
                    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                    a.record()
                    for _ in range(10):
                        function(x)
                    b.record()
                    b.synchronize()
                    samples.append(a.elapsed_time(b) * 100)
                emit(f'PyTorch {torch.__version__} conv2d {label}', name, samples, 'magnitude, 8 bit in and out', False,
                     where='GPU, frames already there')
            except Exception as error:  # a missing compiler, say
                absent(f'PyTorch conv2d {label} {name}', error)


def cupy_peer(sizes, n):
    try:
        import cupy
        from cupyx.scipy import ndimage
        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        return absent('CuPy', error)

    def sobel(x):
        gx, gy = ndimage.sobel(x, axis=1, mode='nearest'), ndimage.sobel(x, axis=0, mode='nearest')
        return cupy.minimum(cupy.sqrt(gx * gx + gy * gy), 255).astype(cupy.uint8)

    for name, (width, height) in sizes.items():
        x = cupy.random.randint(0, 256, (height, width)).astype(cupy.float32)
        sobel(x)
        samples = []
        for _ in range(n):
            a, b = cupy.cuda.Event(), cupy.cuda.Event()
            a.record()
            for _ in range(5):
                sobel(x)
            b.record()
            b.synchronize()
            samples.append(cupy.cuda.get_elapsed_time(a, b) * 200)
        emit(f'CuPy {cupy.__version__} ndimage.sobel', name, samples, 'magnitude, from float, to 8 bit', False,
             where='GPU, frames already there')


def npp(sizes, n):
    """Compiled on the spot: NPP's headers come with the toolkit, and no build depends on them."""
    nvcc = shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
    if not pathlib.Path(nvcc).exists():
        return absent('NPP', 'no CUDA toolkit')
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / 'peer_npp'
        build = subprocess.run([nvcc, '-O2', '-o', str(program), str(HERE / 'peer_npp.cu'), '-lnppif', '-lnppc'],
                               capture_output=True, text=True, timeout=120)
        if build.returncode != 0:
            said = [line for line in build.stderr.split('\n') if 'error' in line or 'cannot find' in line]
            return absent('NPP', (said or ['it did not compile'])[0].replace(str(HERE) + '/', ''))
        for name, (width, height) in sizes.items():
            run = subprocess.run([str(program), str(width), str(height), str(n)], capture_output=True, text=True,
                                 timeout=60)
            if run.returncode != 0:
                absent(f'NPP {name}', run.stderr.strip())
                continue
            emit('NPP GradientVectorSobelBorder', name, [float(v) for v in run.stdout.split()],
                 'L2 magnitude, 8 bit in, 16 bit out', False, where='GPU, frames already there')


def ffmpeg(sizes, n):
    if not ffmpegpeer.tool():
        return absent('FFmpeg sobel', 'ffmpeg is not installed')
    for name in sizes:
        if name == '7680x4320':
            continue
        samples = [ffmpegpeer.sobel(name, 60 if n < 20 else 200)[0] for _ in range(5 if n < 20 else 7)]
        emit('FFmpeg sobel', name, samples, 'magnitude (float, truncated), pipeline with less pipeline without', False,
             where='CPU, its own threads')


def ffmpeg_opencl(sizes, n):
    if not ffmpegpeer.tool():
        return absent('FFmpeg sobel_opencl', 'ffmpeg is not installed')
    device, why = ffmpegpeer.opencl_device()
    if not device:
        return absent('FFmpeg sobel_opencl', why)
    for name in sizes:
        samples = [ffmpegpeer.sobel_opencl(name, 60) for _ in range(5 if n < 20 else 7)]
        emit('FFmpeg sobel_opencl', name, [s[0] for s in samples], 'magnitude (float), frames already on the device',
             False, where=f'OpenCL: {device}')
        emit('FFmpeg hwupload, sobel_opencl, hwdownload', name, [s[1] for s in samples], 'magnitude (float)', True,
             where=f'OpenCL: {device}')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--quick', action='store_true')
    quick = parser.parse_args().quick
    sizes = {k: SIZES[k] for k in (['1920x1080'] if quick else SIZES)}
    n = 10 if quick else 30
    for peer in (opencv, torch_peer, cupy_peer, npp, ffmpeg, ffmpeg_opencl):
        try:
            peer(sizes, n)
        except Exception as error:  # one peer's trouble is its own row
            absent(peer.__name__, error)
    return 0


if __name__ == '__main__':
    sys.exit(main())
