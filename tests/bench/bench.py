#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The whole measurement, one command: kernels, the bus, CPU, pipelines, peers. Installs nothing.

usage: bench.py --bin DIR [--out DIR] [--quick] [--only SUITE[,SUITE]] [--resume] [--budget SECONDS] [--limit SECONDS]

DIR holds the programs bench_gpu, bench_cpu and bench_pipeline (a build's tests/bench, or a GPU bundle's app folder);
what is not there is a row that says so. Every row is written to OUT/results.json as it comes, so that a run that was
cut short loses nothing; --resume goes on behind it. At the end report.py makes tables and plots of it.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import threading
import time

import benchruns
import filters
import programs

HERE = pathlib.Path(__file__).resolve().parent
GPU_SUITES = ('kernels', 'trials', 'bus', 'frames', 'timeline')
SUITES = GPU_SUITES + ('memory', 'cpu', 'filters', 'pipeline', 'peers')
QUERY = 'clocks.sm,clocks.mem,temperature.gpu,power.draw,clocks_event_reasons.active'
NOT_BEGUN = 'not run: no time was left'


class Results:
    """The rows so far, always on disk."""

    def __init__(self, path, resume):
        self.path = path
        self.data = {'host': describe_host(), 'rows': []}
        if resume and path.exists():
            self.data = json.loads(path.read_text())
            cut_off = self.data.pop('running', None)
            self.data['rows'] = [r for r in self.data['rows'] if r['suite'] != cut_off and r.get('error') != NOT_BEGUN]

    def save(self):
        beside = self.path.with_suffix('.part')
        beside.write_text(json.dumps(self.data, indent=1) + '\n')
        beside.replace(self.path)

    def add(self, row):
        self.data['rows'].append(row)
        self.save()

    def has(self, suite, label=None):
        return any(r['suite'] == suite and label in (None, r.get('label')) for r in self.data['rows'])

    def begin(self, suite):
        """Until end (): rows of a run that was cut off here are no whole suite."""
        self.data['running'] = suite
        self.save()

    def end(self):
        self.data.pop('running', None)
        self.save()


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


def run_program(results, suite, command, timeout, deadline):
    if results.has(suite):
        return
    left = deadline - time.monotonic()
    if left < 5:
        results.add({'suite': suite, 'label': suite, 'error': NOT_BEGUN})
        return
    progress(0, 1, ' '.join(pathlib.Path(str(c)).name for c in command))
    started, before = time.monotonic(), len(results.data['rows'])
    results.begin(suite)
    error = programs.stream([str(c) for c in command], min(timeout, left),
                            lambda row: results.add({'suite': suite, **row}))
    rows = len(results.data['rows']) - before
    if error:
        results.add({'suite': suite, 'label': suite, 'error': error})
    results.end()
    progress(1, 1, f'{suite}: {rows} rows in {time.monotonic() - started:.0f} s{", " + error if error else ""}')


def run_memory(results, folder, quick, deadline):
    if results.has('memory'):
        return
    results.begin('memory')
    for row in programs.memory_rows(folder, 3 if quick else 7, max(5, min(30, deadline - time.monotonic()))):
        progress(0, 1, row['label'])
        results.add(row)
    results.end()


def run_filters(results, program, rounds, quick, deadline):
    if results.has('filters'):
        return
    kept = results.data['rows']
    results.begin('filters')
    for rows in filters.rounds(program, quick, rounds, progress):
        results.data['rows'] = kept + rows
        results.save()
        if time.monotonic() > deadline:
            break
    results.end()


def merge(run, rows, failed):
    """One row of a run's repeats: the one of median rate, all rates beside it."""
    if failed:
        return {'suite': 'pipeline', **run, 'error': failed}
    rows = sorted(rows, key=lambda r: r['fps'])
    fps = [r['fps'] for r in rows]
    return {'suite': 'pipeline', **run, **rows[len(rows) // 2], 'fps': statistics.median(fps), 'fps_all': fps}


def run_pipelines(results, program, runs, repeats, quick, budget, deadline):
    """Repeats interleaved, so that a slow moment of the machine does not fall on one row alone. Every run is made once;
    further repeats are begun until `budget`; nothing is begun after `deadline`."""
    runs = [r for r in runs if not results.has('pipeline', r['label'])]
    seen, failed = {run['label']: [] for run in runs}, {}
    kept = results.data['rows']
    for repeat in range(repeats):
        for i, run in enumerate(runs):
            if repeat > 0 and time.monotonic() > min(budget, deadline):
                return
            progress(repeat * len(runs) + i + 1, repeats * len(runs), run['label'])
            if run['label'] in failed:
                continue
            if time.monotonic() > deadline:
                failed[run['label']] = NOT_BEGUN
            else:
                rows, error = programs.json_lines(benchruns.pipeline_command(program, run, quick), 75)
                if error or not rows:
                    failed[run['label']] = error or 'no result'
                seen[run['label']] += rows
            results.data['rows'] = kept + [merge(r, seen[r['label']], failed.get(r['label']))
                                           for r in runs if seen[r['label']] or r['label'] in failed]
            results.save()


def parse(gpu):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--bin', type=pathlib.Path, required=True)
    parser.add_argument('--out', type=pathlib.Path, default=pathlib.Path('bench-results'))
    parser.add_argument('--quick', action='store_true', help='about a minute: few sizes, fewer samples')
    parser.add_argument('--only', help='suites, of ' + ', '.join(SUITES) + ' (default: all, filters where no GPU is)')
    parser.add_argument('--resume', action='store_true')
    parser.add_argument('--repeats', type=int, help='of every pipeline (default 3, quick 1)')
    parser.add_argument('--rounds', type=int, help='of the suite filters (default 7, quick 3)')
    parser.add_argument('--budget', type=float, default=1200, help='seconds after which no repeat is begun')
    parser.add_argument('--limit', type=float, default=86400, help='seconds after which nothing is begun')
    parser.add_argument('--no-report', action='store_true', help='leave tables and plots to report.py')
    args = parser.parse_args()
    args.only = args.only.split(',') if args.only else [s for s in SUITES if s != 'filters' or not gpu]
    unknown = set(args.only) - set(SUITES)
    if unknown:
        parser.error('there is no suite ' + ', '.join(sorted(unknown)))
    return args


def measure(results, args, gpu):
    started = time.monotonic()
    deadline, only = started + args.limit, args.only
    quick = ['--quick'] if args.quick else []
    watch = GpuWatch(gpu and 'kernels' in only and not results.has('kernels'))
    for suite in GPU_SUITES:
        if suite not in only:
            continue
        run_program(results, suite, [args.bin / 'bench_gpu', *quick, suite], 60 if args.quick else 180, deadline)
        if suite == 'kernels' and watch.thread:
            results.data['host']['gpu_while_measured'] = watch.end()
    if 'memory' in only:
        run_memory(results, args.bin, args.quick, deadline)
    if 'filters' in only:
        run_filters(results, args.bin / 'bench_pipeline', args.rounds or (3 if args.quick else 7), args.quick, deadline)
    runs = benchruns.pipeline_runs(gpu, args.quick) if 'pipeline' in only else []
    runs += benchruns.peer_pipelines() if 'peers' in only else []
    run_pipelines(results, args.bin / 'bench_pipeline', runs, args.repeats or (1 if args.quick else 3), args.quick,
                  started + args.budget, deadline)
    if 'peers' in only:
        run_program(results, 'peers', [sys.executable, HERE / 'peers.py', *quick], 60 if args.quick else 150, deadline)
    if 'cpu' in only:
        run_program(results, 'cpu', [args.bin / 'bench_cpu', '--json', *quick], 60 if args.quick else 300, deadline)
    results.data['host']['gpu_state_after'] = smi(QUERY)
    results.data['host']['load_after'] = os.getloadavg()[0]
    results.data['seconds'] = results.data.get('seconds', 0) + round(time.monotonic() - started)
    results.save()


def main():
    # Ended from outside, it ends what it started.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    gpu = smi('name')
    args = parse(bool(gpu))
    args.out.mkdir(parents=True, exist_ok=True)
    results = Results(args.out / 'results.json', args.resume)
    results.save()
    measure(results, args, bool(gpu))
    print(f'{results.path}: {len(results.data["rows"])} rows in {results.data["seconds"]} s')
    if args.no_report:
        return 0
    report = [sys.executable, str(HERE / 'report.py'), str(results.path), '--out', str(args.out)]
    return subprocess.run(report).returncode


if __name__ == '__main__':
    sys.exit(main())
