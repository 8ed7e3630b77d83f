# SPDX-License-Identifier: LGPL-2.1-or-later
"""The goals that a measurement is held against: what was measured, what was wanted, whether it is met.

A goal whose rows are missing says so; it is never left out."""


def find(rows, suite, **wanted):
    for row in rows:
        if row['suite'] == suite and 'error' not in row and all(row.get(k) == v for k, v in wanted.items()):
            return row
    return None


def bus_us(rows, what, size, way, memory='pinned'):
    row = find(rows, 'bus', what=what, size=size, way=way, memory=memory)
    return row['median_us'] if row else None


def fps(rows, label):
    row = find(rows, 'pipeline', label=label)
    return row['fps'] if row else None


def filter_us(rows, peer, fmt, threads):
    row = find(rows, 'filters', peer=peer, format=fmt, threads=threads)
    return row['median_us'] if row else None


class Goals:
    """Lines of the table: (goal, measured, wanted, met or None)."""

    def __init__(self, rows):
        self.rows, self.lines = rows, []

    def add(self, goal, value, form, wanted, met):
        known = value is not None
        self.lines.append((goal, form.format(value) if known else 'not measured', wanted,
                           met(value) if known else None))

    def at_most(self, goal, value, limit, form='{:.2f}', unit=''):
        self.add(goal, value, form + unit, f'at most {limit}{unit}', lambda v: v <= limit)

    def at_least(self, goal, value, limit, form='{:.1f}', unit=''):
        self.add(goal, value, form + unit, f'at least {limit}{unit}', lambda v: v >= limit)

    def reported(self, what, value, form):
        """No limit is set, the number is asked for."""
        self.add(what, value, form, 'reported', lambda v: True)

    def kernel_ratio(self, fmt, size, limit=1.25):
        row = find(self.rows, 'kernels', kernel='fused', format=fmt, size=size, state='steady', group='sizes')
        self.at_most(f'kernel {fmt} {size}, time of a copy of the same bytes', row and row['copy_ratio'], limit,
                     unit=' ×')

    def share_of_bus(self, label, what, size, limit):
        rate, both = fps(self.rows, label), bus_us(self.rows, what, size, 'both')
        known = rate is not None and both is not None
        self.at_least(f'pipeline {label}: share of the bus, both ways, {what} {size}',
                      100 * rate * both / 1e6 if known else None, limit, unit=' %')
        if known:
            goal, measured, *rest = self.lines.pop()
            self.lines.append((goal, f'{measured} ({rate:,.0f} of {1e6 / both:,.0f} frames/s)', *rest))

    def ratio(self, a, b):
        return a / b if a is not None and b else None


def kernel_goals(g):
    for fmt in ('GRAY8', 'I420', 'RGB'):
        for size in ('7680x4320', '16384x16384'):
            g.kernel_ratio(fmt, size)
    row = find(g.rows, 'kernels', kernel='fused', format='GRAY8', size='1920x1080', state='steady', group='sizes')
    g.at_most('kernel GRAY8 1920x1080', row and row['median_us'], 7, unit=' µs')
    row = find(g.rows, 'second run')
    g.at_most(f'second run of the kernels: rows of {row["compared"] if row else "all"} that differ by more than noise '
              'and 10 %, cold 20 %', row and row['slower'] + row['faster'], 0, '{:.0f}')


def rate_goals(g):
    rows = g.rows
    g.share_of_bus('cuda I420 1920x1080', 'one byte a pixel', '1920x1080', 90)
    g.share_of_bus('cuda RGB 1920x1080', 'three bytes a pixel', '1920x1080', 90)
    g.share_of_bus('cuda RGB 3840x2160', 'three bytes a pixel', '3840x2160', 95)
    for fmt in ('I420', 'RGB'):
        row = find(rows, 'pipeline', label=f'cuda {fmt} 1920x1080')
        g.at_most(f'pipeline cuda {fmt} 1920x1080: bytes that the host copied',
                  row and row.get('host_bytes_copied'), 0, '{:,.0f}')
        g.reported(f'pipeline cuda {fmt} 1920x1080 with a sink that reads every byte',
                   fps(rows, f'cuda {fmt} read in full'), '{:,.0f} frames/s')
    g.share_of_bus('cuda I420 overlay', 'I420 whole', '1920x1080', 85)
    g.share_of_bus('cuda RGB overlay', 'three bytes a pixel', '1920x1080', 85)
    for fmt, what in (('I420', 'one byte a pixel'), ('RGB', 'three bytes a pixel')):
        copied = bus_us(rows, what, '1920x1080', 'memcpy', 'one thread')
        rate = fps(rows, f'cuda {fmt} own memory')
        g.at_least(f'source with memory of its own, {fmt} 1080p, rate of a thread\'s memcpy',
                   rate * copied / 1e6 if rate and copied else None, 1, '{:.2f}', ' ×')
    row = find(rows, 'pipeline', label='peer cudasobel', backend='cuda')
    g.at_least('against gleffects_sobel, RGBA 1080p', g.ratio(row and row['fps'], fps(rows, 'peer gleffects_sobel')), 8,
               unit=' ×')
    row = find(rows, 'pipeline', label='peer cudasobel, own memory', backend='cuda')
    g.reported('the same, from memory of the source\'s own',
               g.ratio(row and row['fps'], fps(rows, 'peer gleffects_sobel, own memory')), '{:.1f} ×')
    one = fps(rows, 'cuda 1 elements')
    for n in (2, 4, 8):
        g.at_least(f'{n} elements at once, their total against one',
                   g.ratio(fps(rows, f'cuda {n} elements'), one), 0.95, '{:.2f}', ' ×')


def frame_goals(g):
    """Of a frame for itself, and of frames in GPU memory."""
    rows = g.rows
    row = find(rows, 'pipeline', label='cuda live 30 fps I420 1080p')
    g.at_most('one live I420 1080p frame, in and out, median', row and row['latency_p50_us'], 200, '{:.0f}', ' µs')
    up = bus_us(rows, 'three bytes a pixel', '7680x4320', 'up')
    row = find(rows, 'frames', label='one frame RGB 7680x4320, strips 0')
    g.at_most('one RGB 7680x4320 frame through the device, time of its upload',
              g.ratio(row and row['median_us'], up), 1.3, unit=' ×')
    row = find(rows, 'pipeline', label='cuda live 20 fps RGB 4320p')
    g.at_most('one live RGB 7680x4320 frame in a pipeline, time of its upload',
              g.ratio(row and row['latency_p50_us'], up), 1.3, unit=' ×')
    for size in ('1920x1080', '3840x2160'):
        row = find(rows, 'memory', format='NV12', size=size)
        g.at_most(f'GPU memory to GPU memory, NV12 {size}: more than the kernel\'s own time', row and row['added_us'],
                  10, unit=' µs a frame')
        if row:
            goal, measured, *rest = g.lines.pop()
            g.lines.append((goal, f'{measured} ({row["median_us"]:.2f} less {row["kernel_us"]:.2f})', *rest))


def filter_goals(g):
    """CPU backend: times of filters in a pipeline, by threads."""
    rows = g.rows
    for threads, said in (('1', '1 thread each'), ('all', 'all threads each')):
        gray = filter_us(rows, 'cudasobel', 'GRAY8', threads)
        g.at_least(f'CPU GRAY8 1920x1080 against FFmpeg sobel, {said}',
                   g.ratio(filter_us(rows, 'FFmpeg sobel', 'gray', threads), gray), 8, unit=' ×')
        against = g.ratio(filter_us(rows, 'cvsobel', 'RGB', threads), filter_us(rows, 'cudasobel', 'RGB', threads))
        if threads == 'all':
            g.at_least(f'CPU RGB 1920x1080 against cvsobel, {said}', against, 3, unit=' ×')
        else:
            g.reported(f'CPU RGB 1920x1080 against cvsobel, {said}', against, '{:.1f} ×')
        g.at_most(f'CPU I420 1920x1080 against GRAY8, {said}',
                  g.ratio(filter_us(rows, 'cudasobel', 'I420', threads), gray), 1.1, unit=' ×')
        for fmt in ('GRAY8', 'I420', 'RGB'):
            row = find(rows, 'filters', peer='cudasobel', format=fmt, threads=threads)
            g.reported(f'CPU {fmt} 1920x1080, {said[:-5]}: time of one memcpy of the same bytes',
                       row and row.get('memcpy_ratio'), '{:.2f} ×')


def has_rows(rows, *suites):
    return any(row['suite'] in suites and 'error' not in row for row in rows)


def goals(rows):
    """Those of the GPU where anything of it was measured, those of the CPU likewise; all where nothing was."""
    g = Goals(rows)
    gpu, cpu = has_rows(rows, 'kernels', 'bus', 'memory'), has_rows(rows, 'filters')
    if gpu or not cpu:
        kernel_goals(g)
        rate_goals(g)
        frame_goals(g)
    if cpu or not gpu:
        filter_goals(g)
    return g.lines


def table(rows, words=('met', 'missed', '')):
    lines = ['| goal | measured | wanted | |', '|---|---|---|---|']
    for goal, measured, wanted, met in goals(rows):
        word = words[2] if met is None or wanted == 'reported' else words[0] if met else words[1]
        lines.append(f'| {goal} | {measured} | {wanted} | {word} |')
    return lines


def plain(rows):
    """For a terminal: one line a goal."""
    return [f'{"      " if met is None or wanted == "reported" else "ok    " if met else "MISSED"} {measured:>36s}  '
            f'{goal} ({wanted})' for goal, measured, wanted, met in goals(rows)]
