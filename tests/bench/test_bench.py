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
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import bench
import compare
import benchruns
import ffmpegpeer
import filters
import goals
import profile_rows
import programs

HERE = pathlib.Path(__file__).resolve().parent
HOST = {'date': '2000-01-01', 'cpu': 'a processor', 'cores': 4, 'load': 0.0, 'gpu': 'a GPU', 'driver': '1',
        'gstreamer': '1.22.0', 'gpu_state': ''}


RATE = 'video/x-raw(memory:CUDAMemory),format=NV12 us-a-frame={} kernel-us=4.000 frames=20000 host-bytes-copied=0'


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


def filter_row(peer, fmt, threads, us, copied=None):
    row = {'suite': 'filters', 'label': f'{peer} {fmt}, {threads}', 'peer': peer, 'format': fmt, 'size': '1920x1080',
           'threads': threads, 'on': threads, 'median_us': us, 'spread_us': 0.02 * us, 'samples': 7, 'meaning': 'edges'}
    return {**row, 'memcpy_us': copied, 'memcpy_ratio': us / copied} if copied else row


def cpu_measurement():
    rows = [filter_row('memcpy', 'GRAY8', '1', 60.0)]
    for threads, us in (('1', 300.0), ('all', 160.0)):
        rows += [filter_row('cudasobel', 'GRAY8', threads, us, 60.0),
                 filter_row('cudasobel', 'I420', threads, 1.2 * us, 60.0),
                 filter_row('cudasobel', 'RGB', threads, 2 * us, 200.0), filter_row('cvsobel', 'RGB', threads, 7 * us),
                 filter_row('FFmpeg sobel', 'gray', threads, 7 * us if threads == '1' else 9 * us)]
    return {'host': {**HOST, 'gpu': 'none', 'driver': 'none'}, 'rows': rows, 'seconds': 1}


def measurement():
    rows = [kernel('naive', 'GRAY8', '1920x1080', 12.0, 10.0), kernel('fused', 'GRAY8', '1920x1080', 6.0, 10.0),
            kernel('fused', 'GRAY8', '7680x4320', 24.0, 20.0), kernel('fused', 'RGB', '7680x4320', 99.0, 66.0),
            {'suite': 'kernels', 'label': 'shared', 'error': '3 bytes are not the CPU backend\'s'},
            bus('one byte a pixel', 'both', 50.0), bus('three bytes a pixel', 'both', 150.0),
            pipeline('cuda I420 1920x1080', 19000.0), pipeline('cuda RGB 1920x1080', 5000.0, 'RGB'),
            pipeline('cpu I420 1920x1080', 1000.0, backend='cpu'), pipeline('cpu other', 900.0, backend='cpu'),
            {'suite': 'timeline', 'label': 't', 'format': 'I420', 'size': '1920x1080', 'ring': 1, 'frame': 0,
             'stream': 0, 'start_us': 0, 'uploaded_us': 40, 'computed_us': 46, 'downloaded_us': 86},
            programs.memory_row('NV12', 1920, 1080, [RATE.format(us) for us in (9.0, 8.0, 30.0)]),
            programs.memory_row('NV12', 3840, 2160, ['cudarate: no pool of GPU memory is proposed']),
            {'suite': 'second run', 'label': 'second run', 'compared': 54, 'slower': 1, 'faster': 0}]
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
                   '| instructions | 300 | 20 |', 'not measured', 'GPU: a GPU',
                   '| NV12 | 1920x1080 | 9.00 | 22.00 | 4.00 |',
                   '- GPU memory NV12 3840x2160: cudarate: no pool'):
        check(wanted in text, f'results.md lacks "{wanted}":\n{text}')
    with open(folder / 'results.csv', newline='') as file:
        rows = list(csv.DictReader(file))
    check(len(rows) == len(data['rows']), 'results.csv lacks rows')
    check(rows[8]['fps'] == '5000.0' and rows[7]['copied_per_frame'] == '2.0', 'results.csv has other numbers')
    (folder / 'b.json').write_text(json.dumps(cpu_measurement()))
    (folder / 'b').mkdir()
    out = run('report.py', folder / 'b.json', '--out', folder / 'b')
    text = (folder / 'b' / 'results.md').read_text()
    for wanted in ('| cudasobel | GRAY8 | 1 | 300 | 6 | 7 |', '| 5.00 | edges |',
                   'against FFmpeg sobel, 1 thread each | 7.0 ×'):
        check(wanted in text, f'results.md of a CPU lacks "{wanted}":\n{text}')
    check('share of the bus' not in text, 'goals of the GPU where none was measured')
    plotted = 'no plots' not in out.stdout
    check((folder / 'b' / 'filters.svg').exists() == plotted and
          (folder / 'timeline-i420.svg').exists() == plotted, 'plots are missing')
    (folder / 'none.json').write_text(json.dumps({'host': HOST, 'rows': []}))
    check(run('report.py', folder / 'none.json', '--out', folder / 'b').returncode == 0, 'a report of nothing')


def test_goals():
    met = {goal: met for goal, _, _, met in goals.goals(measurement()['rows']) + goals.goals(cpu_measurement()['rows'])}
    expected = {'kernel GRAY8 1920x1080': True, 'kernel GRAY8 7680x4320, time of a copy of the same bytes': True,
                'kernel RGB 7680x4320, time of a copy of the same bytes': False,
                'kernel I420 7680x4320, time of a copy of the same bytes': None,
                'pipeline cuda I420 1920x1080: share of the bus, both ways, one byte a pixel 1920x1080': True,
                'pipeline cuda RGB 1920x1080: share of the bus, both ways, three bytes a pixel 1920x1080': False,
                'pipeline cuda I420 1920x1080: bytes that the host copied': False,
                'GPU memory to GPU memory, NV12 1920x1080: more than the kernel\'s own time': True,
                'GPU memory to GPU memory, NV12 3840x2160: more than the kernel\'s own time': None,
                'second run of the kernels: rows of 54 that differ by more than noise and 10 %, cold 20 %': False,
                'CPU GRAY8 1920x1080 against FFmpeg sobel, 1 thread each': False,
                'CPU GRAY8 1920x1080 against FFmpeg sobel, all threads each': True,
                'CPU RGB 1920x1080 against cvsobel, all threads each': True,
                'CPU I420 1920x1080 against GRAY8, all threads each': False}
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
        check(out.returncode == 0 and '9 rows compared: 0 slower, 0 faster' in out.stdout, out.stdout + out.stderr)
    out = run('compare.py', paths[0], paths[2])
    check(out.returncode == 1 and '2 slower' in out.stdout and 'slower  1.20x  kernels: fused GRAY8 1920x1080' in
          out.stdout and 'slower  1.43x  pipeline: cuda I420 1920x1080' in out.stdout, out.stdout + out.stderr)
    (folder / 'empty.json').write_text(json.dumps({'host': HOST, 'rows': []}))
    check(run('compare.py', paths[0], folder / 'empty.json').returncode == 2, 'nothing in common is no success')
    run('compare.py', folder / 'empty.json', paths[2], '--record')
    check(not json.loads((folder / 'empty.json').read_text())['rows'], 'a second run of nothing is no result')
    run('compare.py', paths[0], paths[2], '--record')
    found = goals.find(json.loads(paths[0].read_text())['rows'], 'second run')
    check(found and (found['slower'], found['faster'], found['compared']) == (2, 0, 9), f'the second run left {found}')
    rates = [{f'k {state}': (1.0 * more, 0.01) for state in ('steady', 'cold')} for more in (1.0, 1.15, 1.25)]
    check(compare.compare(rates[0], rates[1], 0.1)[2] == 1 and compare.compare(rates[0], rates[2], 0.1)[2] == 2,
          'cold rows repeat less well, but not at will')
    cpu, slow = cpu_measurement(), cpu_measurement()
    slow['rows'][1]['memcpy_ratio'] *= 1.3
    for path, data in ((paths[0], cpu), (paths[2], slow)):
        path.write_text(json.dumps(data))
    out = run('compare.py', paths[0], paths[2])
    check(out.returncode == 1 and '6 rows compared: 1 slower' in out.stdout and 'filters: cudasobel GRAY8, 1' in
          out.stdout, out.stdout + out.stderr)


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
    for results in ({'host': HOST, 'rows': []}, None): # what was measured before may be nothing
        path = folder / ('r.json' if results else 'missing.json')
        if results:
            path.write_text(json.dumps(results))
        out = run('profile_rows.py', folder / 'missing.csv', path, '--multiprocessors', 0, '--why', 'no time was left')
        check(out.returncode == 0, out.stderr)
    row = json.loads((folder / 'r.json').read_text())['rows'][0]
    check(row['error'] == 'no time was left', f'a profile that is missing is {row}')


def test_driver(folder):
    program = folder / 'program'
    program.write_text('#!/bin/sh\necho \'{"label":"a","fps":1}\'\necho \'{"broken\'\nexec sleep 60\n')
    program.chmod(0o755)
    rows, error = programs.json_lines([str(program)], 2)
    check(len(rows) == 1 and 'cut off' in error, f'a program that hangs gave {rows}, {error}')
    program.write_text('#!/bin/sh\necho there is none >&2\nexit 77\n')
    check(programs.json_lines([str(program)], 9) == ([], 'skipped: there is none'), 'exit status 77')
    error = programs.json_lines([str(folder / 'none')], 9)[1]
    check(error == 'not built or not installed', f'a program that is missing: {error}')
    for gpu in (False, True):
        for quick in (False, True):
            runs = benchruns.pipeline_runs(gpu, quick) + benchruns.peer_pipelines()
            labels = [r['label'] for r in runs]
            check(len(labels) == len(set(labels)), 'two runs have one label')
            check(all('--timeout' in benchruns.pipeline_command('p', r, quick) for r in runs), 'a run may hang')
    row = bench.merge({'label': 'x'}, [{'fps': 3}, {'fps': 1}, {'fps': 2}], None)
    check(row['fps'] == 2 and row['fps_all'] == [1, 2, 3], 'the median of three')
    # A suite that was cut off, and what no time was left for, are measured when it goes on; the rest stays.
    rows = [{'suite': 'bus', 'label': 'b'}, {'suite': 'cpu', 'label': 'c'},
            {'suite': 'pipeline', 'label': 'p', 'error': bench.NOT_BEGUN}]
    (folder / 'r.json').write_text(json.dumps({'host': HOST, 'rows': rows, 'running': 'cpu'}))
    results = bench.Results(folder / 'r.json', True)
    check(results.has('bus') and not results.has('cpu') and not results.has('pipeline', 'p'), 'going on behind a cut')
    bench.run_pipelines(results, 'none', [{'label': 'p'}], 3, True, 0, time.monotonic() - 1)
    check(results.data['rows'][-1]['error'] == bench.NOT_BEGUN, 'a run begins though its time is over')


def test_filters(folder):
    labels = [c['label'] for c in filters.cases()]
    check(len(labels) == len(set(labels)), 'two filters have one label')
    seen = {label: [] for label in labels}
    seen['memcpy GRAY8'] = [(50.0, 50.0, 5.0)]
    seen['cudasobel I420, 1 thread'] = [(v, v, 5.0) for v in (90, 110, 100)]
    rows = filters.rows_of(filters.cases(), seen, {'cvsobel RGB, 1 thread': 'there is none'})
    own = goals.find(rows, 'filters', peer='cudasobel')
    check(len(rows) == 3 and own['median_us'] == 100 and own['spread_us'] == 20 and own['memcpy_ratio'] == 2, f'{rows}')
    noise = ffmpegpeer.SOURCE.format(size='2x2', format='gray').split('noise')[1]
    check('format=gray' in noise, 'FFmpeg would filter three planes')


STUB_GPU = '''#!/bin/sh
for suite; do :; done
echo '{"label":"'"$suite"' row"}'
[ "$suite" = kernels ] && exec sleep 60
exit 0
'''


def wait_for(condition, seconds):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.1)
    return condition()


def test_gpu_script(folder):
    """With programs that measure nothing: ended from outside, and out of time."""
    for name, text in (('env.sh', ''), ('app/bench_gpu', STUB_GPU), ('bin/gst-inspect-1.0', '#!/bin/sh\n')):
        path = folder / 'bundle' / 'gst' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    out = folder / 'out'
    results = out / 'results.json'
    env = dict(os.environ, BENCH_QUICK='1', BENCH_LIMIT='60', PATH=os.environ['PATH'])
    command = ['bash', str(HERE / 'gpu.sh'), str(folder / 'bundle'), str(out)]
    with open(folder / 'said', 'w') as said:
        script = subprocess.Popen(command, env=env, stdout=said, stderr=said)
        there = wait_for(lambda: results.exists() and 'kernels row' in results.read_text(), 30)
        script.send_signal(signal.SIGTERM)
        check(script.wait(timeout=40) == 143 and there, 'gpu.sh, ended:\n' + (folder / 'said').read_text())
    check((out / 'results.md').exists() and 'kernels row' in results.read_text(), 'gpu.sh, ended, left no report')
    shutil.copy(results, folder / 'before.json')
    env.update(BENCH_LIMIT='48', BENCH_STAGES='device pipelines again profile',
               BENCH_RESUME=str(folder / 'before.json'))
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    text = done.stdout + done.stderr
    check(done.returncode == 0 and 'skipped: pipelines, peers, CPU' in text and 'skipped: second run' in text, text)
    labels = {r['label'] for r in json.loads(results.read_text())['rows']}
    check({'bus row', 'timeline row', 'profile'} <= labels, f'{labels}\n{text}')


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
    out = subprocess.run(base + ['--filter', 'benchcopy', '--no-check', '--read', 'all'], env=env, capture_output=True,
                         text=True, timeout=100)
    check(out.returncode == 0 and json.loads(out.stdout)['lost'] == 0, f'benchcopy: {out.stderr}')
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
    for test in (test_report, test_compare, test_profile, test_driver, test_filters, test_gpu_script):
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))


if __name__ == '__main__':
    main()
