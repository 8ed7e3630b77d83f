# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs measuring programs: rows as they come, and what went wrong in a line."""

import json
import os
import re
import signal
import subprocess
import tempfile
import threading


def stream(command, timeout, add, cpu=None):
    """Calls add (row) for every line of JSON that a program prints, as it comes; a program that is cut off leaves what
    it had printed. Answers what went wrong, or ''. `cpu`: the one processor that it may use."""
    problem, cut = '', threading.Event()
    with tempfile.TemporaryFile() as errors:
        try:
            run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        except (FileNotFoundError, PermissionError):
            return 'not built or not installed'
        if cpu is not None:
            os.sched_setaffinity(run.pid, {cpu})

        def end():
            cut.set()
            kill(run)

        timer = threading.Timer(timeout, end)
        timer.start()
        try:
            for line in run.stdout:
                if line.startswith(b'{'):
                    try:
                        add(json.loads(line))
                    except ValueError:
                        problem = problem or 'a line of its output is no JSON'
            status = run.wait()
        finally:
            timer.cancel()
            kill(run)
            run.wait()
            run.stdout.close()
        errors.seek(0)
        last = (errors.read().decode(errors='replace').strip().split('\n') or [''])[-1][:300]
    if cut.is_set():
        return f'cut off after {timeout:.0f} s'
    if status == 77:
        return 'skipped: ' + (last or 'not possible here')
    return (last or f'exit status {status}') if status != 0 else problem


def kill(run):
    """With all that it started."""
    try:
        os.killpg(run.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def json_lines(command, timeout, cpu=None):
    """All rows at once, and what went wrong."""
    rows = []
    return rows, stream(command, timeout, rows.append, cpu)


# ---- frames that stay in GPU memory: tests/gpu/cudarate ------------------------------------------------

RATES = (('NV12', 1920, 1080, 20000), ('NV12', 3840, 2160, 10000), ('RGBA', 1920, 1080, 10000))
RATE_LINE = re.compile(r'us-a-frame=([\d.]+) kernel-us=([\d.]+) frames=(\d+) host-bytes-copied=(\d+)')


def rate_program(folder):
    """In a bundle beside the others, in a build folder in tests/gpu."""
    for path in (folder / 'cudarate', folder.parent / 'gpu' / 'cudarate'):
        if path.exists():
            return path
    return None


def memory_row(fmt, width, height, lines):
    """The run of median time, of those that said something."""
    seen = sorted((float(m.group(1)), float(m.group(2)), int(m.group(4))) for m in map(RATE_LINE.search, lines) if m)
    label = f'GPU memory {fmt} {width}x{height}'
    if not seen:
        return {'suite': 'memory', 'label': label, 'error': lines[-1][:300]}
    us, kernel_us, copied = seen[len(seen) // 2]
    return {'suite': 'memory', 'label': label, 'format': fmt, 'size': f'{width}x{height}', 'median_us': us,
            'kernel_us': kernel_us, 'added_us': round(us - kernel_us, 3),
            'spread_us': round(seen[-1][0] - seen[0][0], 3), 'samples': len(seen), 'host_bytes_copied': copied}


def memory_rows(folder, runs, timeout):
    """Rows of the suite `memory`: time a frame from GPU memory to GPU memory beside the kernel's own."""
    program = rate_program(folder)
    if program is None:
        yield {'suite': 'memory', 'label': 'GPU memory', 'error': 'cudarate: not built or not in the bundle'}
        return
    for fmt, width, height, frames in RATES:
        said = []
        for _ in range(runs):
            try:
                run = subprocess.run([str(program), fmt, str(width), str(height), str(frames)], capture_output=True,
                                     text=True, timeout=timeout)
                lines = [line for line in (run.stdout + run.stderr).strip().split('\n') if line]
                said += lines or [f'cudarate: exit status {run.returncode}']
            except subprocess.TimeoutExpired:
                said.append(f'cudarate: cut off after {timeout:.0f} s')
        yield memory_row(fmt, width, height, said)
