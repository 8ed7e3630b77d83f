# SPDX-License-Identifier: LGPL-2.1-or-later
"""FFmpeg's filters `sobel` and `sobel_opencl`, each in a pipeline of FFmpeg's own, with the filter and without."""

import re
import resource
import shutil
import subprocess
import time

# Sixteen frames of noise, made once and sent again and again. `noise` makes no gray, but a picture of three planes: the
# format comes behind it.
SOURCE = 'color=c=gray:s={size}:r=30:d=1,noise=alls=40,format={format},loop=loop=-1:size=16:start=0'


def tool():
    return shutil.which('ffmpeg')


def children_us():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e6


def run(filter_, size, frames, threads=None, fmt='gray', options=()):
    """Microseconds a frame of a whole run, wall clock and on processors."""
    command = [tool(), '-v', 'error', *options] + (['-filter_threads', str(threads)] if threads else [])
    command += ['-f', 'lavfi', '-i', SOURCE.format(size=size, format=fmt), '-frames:v', str(frames),
                '-vf', f'format={fmt},{filter_}', '-f', 'null', '-']
    used, start = children_us(), time.perf_counter()
    subprocess.run(command, check=True, timeout=60, stdin=subprocess.DEVNULL, capture_output=True)
    return (time.perf_counter() - start) / frames * 1e6, (children_us() - used) / frames


def sobel(size, frames, threads=None):
    """One sample of the filter's time: with less without, wall clock and on processors, and what is left without."""
    with_us, with_cpu = run('sobel', size, frames, threads)
    without_us, without_cpu = run('null', size, frames, threads)
    return with_us - without_us, with_cpu - without_cpu, without_us


OPENCL = ('-init_hw_device', 'opencl=gpu', '-filter_hw_device', 'gpu')


def opencl_device():
    """Its name, or None and why there is none."""
    command = [tool(), '-v', 'verbose', *OPENCL, '-f', 'lavfi', '-i', 'color=s=64x64:d=0.1', '-f', 'null', '-']
    out = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    found = re.search(r'\d+\.\d+: (.+)', out.stderr)
    if out.returncode == 0:
        return found.group(1).strip() if found else 'a device', ''
    said = re.findall(r'^\[.*\] (.*OpenCL.*)$', out.stderr, re.MULTILINE)
    return None, 'OpenCL has no device: ' + (said or ['ffmpeg knows no OpenCL'])[0]


def sobel_opencl(size, frames):
    """One sample, wall clock: the way to the device and back is on both sides of the difference and counts in neither;
    the second number is the whole way, filter included, less what the source costs."""
    with_us, _ = run('hwupload,sobel_opencl,hwdownload,format=gray', size, frames, options=OPENCL)
    way_us, _ = run('hwupload,hwdownload,format=gray', size, frames, options=OPENCL)
    source_us, _ = run('null', size, frames, options=OPENCL)
    return with_us - way_us, with_us - source_us
