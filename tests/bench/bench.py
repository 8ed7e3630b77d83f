#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The whole measurement, one command: kernels, the bus, CPU, pipelines, peers. Installs nothing.

usage: bench.py --bin DIR [--out DIR] [--quick] [--only SUITE[,SUITE]] [--resume] [--budget SECONDS]

DIR holds the programs bench_gpu, bench_cpu and bench_pipeline (a build's tests/bench, or a GPU bundle's app folder);
what is not there is a row that says so. Every run is written to OUT/results.json at once, so that a run that was cut
short loses nothing; --resume goes on behind it. At the end report.py makes tables and plots of it.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import threading
import time

import benchruns

HERE = pathlib.Path(__file__).resolve().parent
GPU_SUITES = ('kernels', 'trials', 'bus', 'timeline')
SUITES = GPU_SUITES + ('cpu', 'pipeline', 'peers')
QUERY = 'clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_event_reasons.active'


class Results:
    """The rows so far, always on disk."""

    def __init__(self, path, resume):
        self.path = path
        self.data = {'host': describe_host(), 'rows': []}
        if resume and path.exists():
            self.data = json.loads(path.read_text())

    def save(self):
        beside = self.path.with_suffix('.part')
        beside.write_text(json.dumps(self.data, indent=1) + '\n')
        beside.replace(self.path)

    def add(self, row):
        self.data['rows'].append(row)
        self.save()

    def has(self, suite, label=None):
        return any(r['suite'] == suite and label in (None, r.get('label')) for r in self.data['rows'])


# ---- the machine ------------------------------------------------------------------------------------


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


def smi(query):
    return first_line(['nvidia-smi', '--query-gpu=' + query, '--format=csv,noheader'])


def describe_host():
    return {
        'date': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d'),
        'cpu': cpu_model(),
        'cores': os.cpu_count(),
        'load': os.getloadavg()[0],
        'gpu': smi('name') or 'none',
        'driver': smi('driver_version') or 'none',
        'gstreamer': first_line(['gst-launch-1.0', '--version']).split(' ')[-1] or 'none',
        'gpu_state': smi(QUERY),
    }


class GpuWatch:
    """Clocks and reasons for throttling while something runs, a look every 2 s."""

    def __init__(self, wanted):
        self.lines, self.stop, self.thread = [], threading.Event(), None
        if wanted:
            self.thread = threading.Thread(target=self.look, daemon=True)
            self.thread.start()

    def look(self):
        while not self.stop.wait(2):
            self.lines.append(smi(QUERY))

    def end(self):
        """Lowest and highest SM clock, and every throttling word that was seen."""
        if not self.thread:
            return {}
        self.stop.set()
        self.thread.join(timeout=5)
        fields = [[f.strip() for f in line.split(',')] for line in self.lines if line.count(',') == 4]
        clocks = [int(f[0].split()[0]) for f in fields if f[0].split()[0].isdigit()]
        if not clocks:
            return {}
        return {'sm_mhz_lowest': min(clocks), 'sm_mhz_highest': max(clocks), 'looks': len(clocks),
                'clock_reasons': sorted({f[4] for f in fields}), 'temperature_highest': max(f[2] for f in fields)}


# ---- running ----------------------------------------------------------------------------------------


def progress(done, total, what):
    text = f'[{done:3d}/{total}] {what}'
    if sys.stderr.isatty():
        sys.stderr.write('\r\x1b[K' + text[:110])
        if done == total:
            sys.stderr.write('\n')
    else:
        sys.stderr.write(text + '\n')
    sys.stderr.flush()


def json_lines(command, timeout):
    """The JSON lines that a program prints, and what went wrong, if anything. A program that is cut off leaves the
    lines that it had printed."""
    problem = ''
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
        out, err, status = run.stdout, run.stderr, run.returncode
    except (FileNotFoundError, PermissionError):
        return [], 'not built or not installed'
    except subprocess.TimeoutExpired as expired:
        out, err, status = expired.stdout or b'', b'', 0
        problem = f'cut off after {timeout:.0f} s'
    rows = []
    for line in out.decode(errors='replace').split('\n'):
        if line.startswith('{'):
            try:
                rows.append(json.loads(line))
            except ValueError:
                problem = problem or 'a line of its output is no JSON'
    last = (err.decode(errors='replace').strip().split('\n') or [''])[-1][:300]
    if status == 77:
        problem = 'skipped: ' + (last or 'not possible here')
    elif status != 0:
        problem = last or f'exit status {status}'
    return rows, problem


def run_program(results, suite, command, timeout):
    if results.has(suite):
        return
    progress(0, 1, ' '.join(pathlib.Path(str(c)).name for c in command))
    started = time.monotonic()
    rows, error = json_lines([str(c) for c in command], timeout)
    for row in rows:
        results.data['rows'].append({'suite': suite, **row})
    if error:
        results.data['rows'].append({'suite': suite, 'label': suite, 'error': error})
    results.save()
    progress(1, 1, f'{suite}: {len(rows)} rows in {time.monotonic() - started:.0f} s{", " + error if error else ""}')


def merge(run, rows, failed):
    """One row of a run's repeats: the one of median rate, all rates beside it."""
    if failed:
        return {'suite': 'pipeline', **run, 'error': failed}
    rows = sorted(rows, key=lambda r: r['fps'])
    fps = [r['fps'] for r in rows]
    return {'suite': 'pipeline', **run, **rows[len(rows) // 2], 'fps': statistics.median(fps), 'fps_all': fps}


def run_pipelines(results, program, runs, repeats, quick, deadline):
    """Repeats interleaved, so that a slow moment of the machine does not fall on one row alone. Every run is made once;
    further repeats are made while there is time."""
    runs = [r for r in runs if not results.has('pipeline', r['label'])]
    seen, failed = {run['label']: [] for run in runs}, {}
    kept = results.data['rows']
    for repeat in range(repeats):
        for i, run in enumerate(runs):
            if repeat > 0 and time.monotonic() > deadline:
                return
            progress(repeat * len(runs) + i + 1, repeats * len(runs), run['label'])
            if run['label'] in failed:
                continue
            rows, error = json_lines(benchruns.pipeline_command(program, run, quick), 75)
            if error or not rows:
                failed[run['label']] = error or 'no result'
            seen[run['label']] += rows
            results.data['rows'] = kept + [merge(r, seen[r['label']], failed.get(r['label']))
                                           for r in runs if seen[r['label']] or r['label'] in failed]
            results.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, required=True)
    parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('bench-results'))
    parser.add_argument('--quick', action='store_true', help='about a minute: few sizes, fewer samples')
    parser.add_argument('--only', default=','.join(SUITES), help='suites, of ' + ', '.join(SUITES))
    parser.add_argument('--resume', action='store_true')
    parser.add_argument('--repeats', type=int, help='of every pipeline (default 3, quick 1)')
    parser.add_argument('--budget', type=float, default=1200, help='seconds after which no repeat is begun')
    args = parser.parse_args()
    only = args.only.split(',')
    unknown = set(only) - set(SUITES)
    if unknown:
        parser.error('there is no suite ' + ', '.join(sorted(unknown)))
    started = time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    results = Results(args.out / 'results.json', args.resume)
    results.save()
    gpu = results.data['host']['gpu'] != 'none'
    quick = ['--quick'] if args.quick else []

    watch = GpuWatch(gpu and 'kernels' in only)
    for suite in GPU_SUITES:
        if suite not in only:
            continue
        run_program(results, suite, [args.bin / 'bench_gpu', *quick, suite], 60 if args.quick else 180)
        if suite == 'kernels':
            results.data['host']['gpu_while_measured'] = watch.end()
    if 'cpu' in only:
        run_program(results, 'cpu', [args.bin / 'bench_cpu', '--json', *quick], 60 if args.quick else 300)
    runs = benchruns.pipeline_runs(gpu, args.quick) if 'pipeline' in only else []
    runs += benchruns.peer_pipelines() if 'peers' in only else []
    run_pipelines(results, args.bin / 'bench_pipeline', runs, args.repeats or (1 if args.quick else 3), args.quick,
                  started + args.budget)
    if 'peers' in only:
        run_program(results, 'peers', [sys.executable, HERE / 'peers.py', *quick], 60 if args.quick else 150)
    results.data['host']['gpu_state_after'] = smi(QUERY)
    results.data['host']['load_after'] = os.getloadavg()[0]
    results.data['seconds'] = round(time.monotonic() - started)
    results.save()
    print(f'{results.path}: {len(results.data["rows"])} rows in {results.data["seconds"]} s')
    report = [sys.executable, str(HERE / 'report.py'), str(results.path), '--out', str(args.out)]
    return subprocess.run(report).returncode


if __name__ == '__main__':
    sys.exit(main())
