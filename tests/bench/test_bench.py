#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Feeds made-up measurements through report.py, compare.py, profile_rows.py and bench.py's own parts.

usage: test_bench.py            all of that
       test_bench.py PIPELINE   runs the program bench_pipeline on the CPU backend, and with a filter that is none
"""

import copy
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import bench
import benchruns
import goals
import profile_rows

HERE = pathlib.Path(__file__).resolve().parent
HOST = {'date': '2000-01-01', 'cpu': 'a processor', 'cores': 4, 'load': 0.0, 'gpu': 'a GPU', 'driver': '1',
        'gstreamer': '1.22.0', 'gpu_state': ''}


def check(condition, what):
    if not condition:
        sys.exit(f'test_bench: {what}')


def kernel(name, fmt, size, us, copied, **more):
    return {'suite': 'kernels', 'label': f'{name} {fmt} {size}', 'group': 'sizes', 'kernel': name, 'format': fmt,
            'size': size, 'state': 'steady', 'mode': 'edges', 'border': 'replicate', 'precision': 'integer',
            'median_us': us, 'iqr_us': 0.01 * us, 'samples': 32, 'bytes': 1e6, 'copy_us': copied,
            'copy_ratio': us / copied, **more}


def pipeline(label, rate, fmt='I420', **more):
    return {'suite': 'pipeline', 'label': label, 'group': 'formats', 'format': fmt, 'size': '1920x1080', 'fps': rate,
            'fps_all': [rate * 0.99, rate, rate * 1.01], 'frames': 1000, 'frames_in': 1200, 'host_bytes_copied': 2400,
            'latency_p50_us': 100, 'latency_p99_us': 200, 'cpu_us_per_frame': 7.0, 'backend': 'cuda', 'live_fps': 0,
            'late': 0, **more}


def bus(what, way, us, memory='pinned'):
    return {'suite': 'bus', 'group': 'transfers', 'label': f'bus {what} {way}', 'what': what, 'size': '1920x1080',
            'way': way, 'memory': memory, 'median_us': us, 'iqr_us': 0.1, 'bytes': 1.0, 'gb_s': 1.0}


def measurement():
    rows = [kernel('naive', 'GRAY8', '1920x1080', 12.0, 10.0), kernel('fused', 'GRAY8', '1920x1080', 6.0, 10.0),
            kernel('fused', 'GRAY8', '7680x4320', 24.0, 20.0), kernel('fused', 'RGB', '7680x4320', 99.0, 66.0),
            {'suite': 'kernels', 'label': 'shared', 'error': '3 bytes are not the CPU backend\'s'},
            bus('one byte a pixel', 'both', 50.0), bus('three bytes a pixel', 'both', 150.0),
            pipeline('cuda I420 1920x1080', 19000.0), pipeline('cuda RGB 1920x1080', 5000.0, 'RGB'),
            pipeline('cpu I420 1920x1080', 1000.0, backend='cpu'), pipeline('cpu other', 900.0, backend='cpu'),
            {'suite': 'timeline', 'label': 't', 'format': 'I420', 'size': '1920x1080', 'ring': 1, 'frame': 0,
             'stream': 0, 'start_us': 0, 'uploaded_us': 40, 'computed_us': 46, 'downloaded_us': 86}]
    rows += [{'suite': 'profile', 'label': f'p {k}', 'kernel': k, 'format': 'GRAY8', 'size': '7680x4320',
              'metric': 'instructions', 'unit': '', 'value': v}
             for k, v in (('naive', 300), ('fused', 20), ('naive', 9))]
    return {'host': HOST, 'rows': rows, 'seconds': 1}


def run(program, *args):
    return subprocess.run([sys.executable, str(HERE / program), *map(str, args)], capture_output=True, text=True,
                          timeout=120)


def test_report(folder):
    data = measurement()
    (folder / 'a.json').write_text(json.dumps(data))
    out = run('report.py', folder / 'a.json', '--out', folder)
    check(out.returncode == 0, 'report.py failed: ' + out.stderr)
    text = (folder / 'results.md').read_text()
    for wanted in ('| fused | GRAY8 | 7680x4320 | edges |', '| 1.20 |', '95.0 % (19,000 of 20,000 frames/s)',
                   '- shared: 3 bytes are not', '| cuda I420 1920x1080 | I420 | 1920x1080 | 19,000 | 2% |',
                   '| instructions | 300 | 20 |', 'not measured', 'GPU: a GPU'):
        check(wanted in text, f'results.md lacks "{wanted}":\n{text}')
    with open(folder / 'results.csv', newline='') as file:
        rows = list(csv.DictReader(file))
    check(len(rows) == len(data['rows']), 'results.csv lacks rows')
    check(rows[8]['fps'] == '5000.0' and rows[7]['copied_per_frame'] == '2.0', 'results.csv has other numbers')


def test_goals():
    met = {goal: met for goal, _, _, met in goals.goals(measurement()['rows'])}
    expected = {'kernel GRAY8 1920x1080': True, 'kernel GRAY8 7680x4320, time of a copy of the same bytes': True,
                'kernel RGB 7680x4320, time of a copy of the same bytes': False,
                'kernel I420 7680x4320, time of a copy of the same bytes': None,
                'pipeline cuda I420 1920x1080: share of the bus, both ways, one byte a pixel 1920x1080': True,
                'pipeline cuda RGB 1920x1080: share of the bus, both ways, three bytes a pixel 1920x1080': False}
    for goal, wanted in expected.items():
        check(goal in met and met[goal] is wanted, f'"{goal}" is {met.get(goal, "missing")}, not {wanted}')


def test_compare(folder):
    old, same, slow, clock = (copy.deepcopy(measurement()) for _ in range(4))
    for row in clock['rows']: # everything takes twice as long: nothing became slower
        for key in ('median_us', 'copy_us', 'iqr_us'):
            row.update({key: 2 * row[key]} if key in row else {})
        row.update({'fps': row['fps'] / 2, 'fps_all': [v / 2 for v in row['fps_all']]} if 'fps' in row else {})
    slow['rows'][1]['median_us'] *= 1.2
    slow['rows'][7]['fps'] *= 0.7
    slow['rows'][2]['median_us'] *= 1.05
    slow['rows'][3].update(median_us=198.0, iqr_us=250.0) # within its own spread
    paths = []
    for name, data in (('old', old), ('same', same), ('slow', slow), ('clock', clock)):
        paths.append(folder / (name + '.json'))
        paths[-1].write_text(json.dumps(data))
    for path in (paths[1], paths[3]):
        out = run('compare.py', paths[0], path)
        check(out.returncode == 0 and '8 rows compared: 0 slower, 0 faster' in out.stdout, out.stdout + out.stderr)
    out = run('compare.py', paths[0], paths[2])
    check(out.returncode == 1 and '2 slower' in out.stdout and 'slower  1.20x  kernels: fused GRAY8 1920x1080' in
          out.stdout and 'slower  1.43x  pipeline: cuda I420 1920x1080' in out.stdout, out.stdout + out.stderr)
    (folder / 'empty.json').write_text(json.dumps({'host': HOST, 'rows': []}))
    check(run('compare.py', paths[0], folder / 'empty.json').returncode == 2, 'nothing in common is no success')


def test_profile(folder):
    head = ['ID', 'Kernel Name', 'gpu__time_duration.sum', 'smsp__inst_executed.sum',
            'smsp__cycles_elapsed.avg.per_second',
            'smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio']
    table = [head, ['', '', 'us', 'inst', 'Ghz', 'inst'],
             ['0', 'void naive_kernel<unsigned char>(int)', '160.5', '1,000', '1.5', '3.25'],
             ['1', 'gray_kernel(int)', '10', '5', '1.5', '0']]
    lines = ['==PROF== Connected to process 1'] + [','.join(f'"{cell}"' for cell in line) for line in table]
    (folder / 'p.csv').write_text('\n'.join(lines) + '\n')
    rows = profile_rows.rows_of(profile_rows.read(folder / 'p.csv'), '7680x4320', 100)
    found = {(r['kernel'], r['format'], r['metric']): round(r['value'], 6) for r in rows}
    for key, value in ((('naive', 'GRAY8', 'duration'), 160.5), (('naive', 'GRAY8', 'instructions'), 1000),
                       (('naive', 'GRAY8', 'waiting: long scoreboard'), 3.25), (('naive', 'GRAY8', 'issue peak'), 600),
                       (('gray pass', 'RGB', 'duration'), 10)):
        check(found.get(key) == value, f'{key} is {found.get(key)}, not {value}')


def test_driver(folder):
    program = folder / 'program'
    program.write_text('#!/bin/sh\necho \'{"label":"a","fps":1}\'\necho \'{"broken\'\nexec sleep 60\n')
    program.chmod(0o755)
    rows, error = bench.json_lines([str(program)], 2)
    check(len(rows) == 1 and 'cut off' in error, f'a program that hangs gave {rows}, {error}')
    program.write_text('#!/bin/sh\necho there is none >&2\nexit 77\n')
    check(bench.json_lines([str(program)], 9) == ([], 'skipped: there is none'), 'exit status 77')
    check(bench.json_lines([str(folder / 'none')], 9)[1] == 'not built or not installed', 'a program that is missing')
    for gpu in (False, True):
        for quick in (False, True):
            runs = benchruns.pipeline_runs(gpu, quick) + benchruns.peer_pipelines()
            labels = [r['label'] for r in runs]
            check(len(labels) == len(set(labels)), 'two runs have one label')
            check(all('--timeout' in benchruns.pipeline_command('p', r, quick) for r in runs), 'a run may hang')
    row = bench.merge({'label': 'x'}, [{'fps': 3}, {'fps': 1}, {'fps': 2}], None)
    check(row['fps'] == 2 and row['fps_all'] == [1, 2, 3], 'the median of three')


def test_pipeline(program):
    env = dict(os.environ, LC_ALL='C')
    base = [program, '--frames', '50', '--warmup', '5', '--size', '320x240', '--timeout', '60', '--label', 'a "test"']
    for fmt in ('I420', 'RGB', 'YUY2'):
        out = subprocess.run(base + ['--filter', 'cudasobel backend=cpu', '--format', fmt], env=env,
                             capture_output=True, text=True, timeout=100)
        check(out.returncode == 0, f'{fmt}: {out.stderr}')
        row = json.loads(out.stdout)
        check(row['wrong'] == 0 and row['lost'] == 0 and row['frames'] == 45 and row['fps'] > 0 and
              row['backend'] == 'cpu' and row['label'] == 'a "test"', f'{fmt}: {row}')
    out = subprocess.run(base + ['--filter', 'identity'], env=env, capture_output=True, text=True, timeout=100)
    check(out.returncode == 1 and json.loads(out.stdout)['wrong'] == 50, 'frames without edges pass as right')
    out = subprocess.run(base + ['--filter', 'cudasobel backend=cpu', '--elements', '3', '--live', '100'], env=env,
                         capture_output=True, text=True, timeout=100)
    row = json.loads(out.stdout or '{}')
    check(out.returncode == 0 and row['frames'] == 135 and 150 < row['fps'] < 400,
          f'three live ones: {out.stderr}{row}')


def main():
    if len(sys.argv) > 1:
        test_pipeline(sys.argv[1])
        return
    test_goals()
    for test in (test_report, test_compare, test_profile, test_driver):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))


if __name__ == '__main__':
    main()
