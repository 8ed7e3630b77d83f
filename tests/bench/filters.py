# SPDX-License-Identifier: LGPL-2.1-or-later
"""The time of a filter in a pipeline: the whole pipeline with it, less the same pipeline without.

Runs are interleaved, so that a slow moment of the machine does not fall on one row alone: a round runs every pipeline
once, a row is the median of all rounds, its spread from the lowest to the highest."""

import os
import statistics

import benchruns
import ffmpegpeer
import programs

SIZE = '1920x1080'
OPENCV_MEANING = 'one direction only'


def cores():
    return len(os.sched_getaffinity(0))


def gst(label, peer, filter_, fmt, threads, on, meaning, pinned=False):
    return {'label': label, 'peer': peer, 'filter': filter_, 'format': fmt, 'threads': threads, 'on': on,
            'meaning': meaning, 'pinned': pinned}


def cases():
    """threads: '1' or 'all', as goals are stated; on: the same in words."""
    n = cores()
    own, every = 'cudasobel backend=cpu', f'all, {n} threads'
    found = []
    for fmt, meaning in (('GRAY8', 'magnitude, exact'), ('I420', 'magnitude, exact; chroma neutral'),
                         ('RGB', 'magnitude of luma, exact, in all three')):
        found.append(gst(f'memcpy {fmt}', 'memcpy', 'benchcopy', fmt, '1', '1 thread', 'nothing: one memcpy a frame'))
        found.append(gst(f'cudasobel {fmt}, 1 thread', 'cudasobel', own + ' n-threads=1', fmt, '1', '1 thread',
                         meaning))
        found.append(gst(f'cudasobel {fmt}, all threads', 'cudasobel', own + f' n-threads={n}', fmt, 'all', every,
                         meaning))
    # OpenCV made with TBB, as Debian's is, reads no variable that limits its threads; it keeps to the processors that
    # the process may use.
    found.append(gst('cvsobel RGB, 1 thread', 'cvsobel', 'cvsobel mask=false', 'RGB', '1',
                     'the process kept to 1 core', OPENCV_MEANING, True))
    found.append(gst('cvsobel RGB, all threads', 'cvsobel', 'cvsobel mask=false', 'RGB', 'all',
                     f'OpenCV\'s own choice, {n} cores', OPENCV_MEANING))
    for threads, count, on in (('1', 1, '1 thread'), ('all', n, every)):
        found.append({'label': f'FFmpeg sobel gray, {"1 thread" if threads == "1" else "all threads"}',
                      'peer': 'FFmpeg sobel', 'format': 'gray', 'threads': threads, 'count': count, 'on': on,
                      'meaning': 'magnitude (float, truncated), in a pipeline of FFmpeg\'s own'})
    return found


class Pipelines:
    """One round's runs of bench_pipeline; those without the filter are shared by all rows of their format."""

    def __init__(self, program, quick):
        self.program, self.quick, self.without = program, quick, {}

    def run(self, filter_, fmt, pinned):
        run = benchruns.pipeline_run('filters', filter_, fmt, SIZE, nocheck=not filter_.startswith('cudasobel'))
        rows, error = programs.json_lines(benchruns.pipeline_command(self.program, run, self.quick), 75,
                                          min(os.sched_getaffinity(0)) if pinned else None)
        if error or not rows:
            raise RuntimeError(error or 'no result')
        return 1e6 / rows[-1]['fps'], rows[-1]['cpu_us_per_frame']

    def sample(self, case):
        key = case['format'], case['pinned']
        if key not in self.without:
            self.without[key] = self.run('identity', *key)
        without_us, without_cpu = self.without[key]
        with_us, with_cpu = self.run(case['filter'], *key)
        return with_us - without_us, with_cpu - without_cpu, without_us


def sample(case, pipelines, quick):
    if 'filter' in case:
        return pipelines.sample(case)
    if not ffmpegpeer.tool():
        raise RuntimeError('ffmpeg is not installed')
    return ffmpegpeer.sobel(SIZE, 50 if quick else 100, case['count'])


def row(case, samples, memcpy_us):
    """memcpy_us: of as many bytes as the filter has to read and to write."""
    us = [s[0] for s in samples]
    median = statistics.median(us)
    found = {'suite': 'filters', 'label': case['label'], 'peer': case['peer'], 'format': case['format'], 'size': SIZE,
             'threads': case['threads'], 'on': case['on'], 'median_us': round(median, 1),
             'spread_us': round(max(us) - min(us), 1), 'samples': len(us), 'all_us': [round(v, 1) for v in us],
             'cpu_us': round(statistics.median(s[1] for s in samples), 1),
             'without_us': round(statistics.median(s[2] for s in samples), 1), 'meaning': case['meaning']}
    if memcpy_us:
        found.update(memcpy_us=round(memcpy_us, 1), memcpy_ratio=round(median / memcpy_us, 2))
    return found


def rows_of(all_cases, seen, failed):
    copied = {case['format']: statistics.median(s[0] for s in seen[case['label']])
              for case in all_cases if case['peer'] == 'memcpy' and seen[case['label']]}
    rows = []
    for case in all_cases:
        # Of I420 only the luma is read and written.
        same = {'I420': 'GRAY8', 'gray': 'GRAY8'}.get(case['format'], case['format'])
        if case['label'] in failed:
            rows.append({'suite': 'filters', 'label': case['label'], 'error': failed[case['label']]})
        elif seen[case['label']]:
            rows.append(row(case, seen[case['label']], copied.get(same) if case['peer'] != 'memcpy' else None))
    return rows


def rounds(program, quick, n, note):
    """All rows so far, after every pipeline. note (done, total, label): progress."""
    all_cases, failed = cases(), {}
    seen = {case['label']: [] for case in all_cases}
    for k in range(n):
        pipelines = Pipelines(program, quick)
        for i, case in enumerate(all_cases):
            note(k * len(all_cases) + i + 1, n * len(all_cases), case['label'])
            if case['label'] in failed:
                continue
            try:
                seen[case['label']].append(sample(case, pipelines, quick))
            except Exception as error:  # one filter's trouble is its own row
                failed[case['label']] = str(error)[:300]
            yield rows_of(all_cases, seen, failed)
