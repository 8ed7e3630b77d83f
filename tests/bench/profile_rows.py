#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Takes what Nsight Compute counted (docs/profiling.md) into a measurement, as rows of the suite `profile`.

usage: profile_rows.py PROFILE.csv RESULTS.json --multiprocessors N [--size WxH] [--why TEXT]
PROFILE.csv: ncu --csv --page raw of `bench_gpu profile`; where it is missing or empty, a row says why.
"""

import argparse
import csv
import json
import pathlib
import re
import sys

NAMES = {'naive_kernel': 'naive', 'constant_kernel': 'constant', 'shared_kernel': 'shared', 'fast_kernel': 'fused',
         'fused_kernel': 'fused, general form', 'gray_kernel': 'gray pass', 'finish_kernel': 'finish pass'}

# ncu's name, ours, the unit that we print, and what ncu's base unit is multiplied by.
METRICS = [
    ('gpu__time_duration.sum', 'duration', 'µs', 1e6),
    ('smsp__inst_executed.sum', 'instructions', 'of warps', 1),
    ('smsp__issue_active.avg.per_cycle_active', 'issue slots used', '%', 100),
    ('smsp__thread_inst_executed_per_inst_executed.ratio', 'threads an instruction', '', 1),
    ('sm__warps_active.avg.pct_of_peak_sustained_active', 'warps resident', '%', 1),
    ('launch__registers_per_thread', 'registers a thread', '', 1),
    ('dram__bytes.sum.per_second', 'device memory', 'GB/s', 1e-9),
    ('gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed', 'device memory, of its peak', '%', 1),
    ('dram__throughput.avg.pct_of_peak_sustained_elapsed', 'device memory, of its peak', '%', 1),
    ('sm__throughput.avg.pct_of_peak_sustained_elapsed', 'multiprocessors, of their peak', '%', 1),
    ('l1tex__t_sector_hit_rate.pct', 'hits in L1', '%', 1),
    ('lts__t_sector_hit_rate.pct', 'hits in L2', '%', 1),
    ('l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum', 'bank conflicts in shared memory', '', 1),
]
STALL = re.compile(r'smsp__average_warps?_(?:latency_)?issue_stalled_([a-z_]+?)(?:_per_issue_active)?\.ratio$')
SCALE = {'n': 1e-9, 'u': 1e-6, 'm': 1e-3, 'K': 1e3, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12}
UNITS = re.compile(r'^([numKkMGT]?)(s|second|byte|byte/s|byte/second|cycle/s|cycle/second|hz|Hz|inst|cycle)s?$')


def in_base_units(text, unit):
    value = float(text.replace(',', ''))
    match = UNITS.match(unit)
    return value * SCALE.get(match.group(1), 1) if match else value


def read(path):
    """One dict a kernel launch: name, and metrics in base units."""
    if not path.exists():
        return []
    with open(path, newline='') as file:
        lines = [line for line in file if line.startswith('"')]
    table = list(csv.reader(lines))
    if len(table) < 3:
        return []
    heads, units, launches = table[0], table[1], []
    for line in table[2:]:
        launch = {'name': dict(zip(heads, line)).get('Kernel Name', '')}
        for head, unit, text in zip(heads, units, line):
            try:
                launch[head] = in_base_units(text, unit)
            except ValueError:
                continue
        launches.append(launch)
    return launches


def rows_of(launches, size, multiprocessors):
    rows, fmt = [], 'GRAY8'
    for launch in launches:
        word = re.search(r'(\w+_kernel)', launch['name'])
        kernel = NAMES.get(word.group(1), word.group(1)) if word else launch['name'][:40]
        if kernel == 'gray pass':
            fmt = 'RGB' # bench_gpu profiles GRAY8, which has none, first
        values, seen = [], set()
        for key, metric, unit, factor in METRICS:
            if key in launch and metric not in seen:
                seen.add(metric)
                values.append((metric, launch[key] * factor, unit))
        for key, value in launch.items():
            match = STALL.match(key)
            if match and match.group(1) != 'selected' and value >= 0.05:
                values.append(('waiting: ' + match.group(1).replace('_', ' '), value, 'warps an issue'))
        hertz = launch.get('smsp__cycles_elapsed.avg.per_second')
        if hertz:
            values.append(('clock', hertz / 1e6, 'MHz'))
            values.append(('issue peak', 4 * multiprocessors * hertz / 1e9, '10⁹ a second'))
        rows += [{'suite': 'profile', 'group': f'{kernel} {fmt}', 'label': f'profile {kernel} {fmt}: {metric}',
                  'kernel': kernel, 'format': fmt, 'size': size, 'metric': metric, 'value': value, 'unit': unit}
                 for metric, value, unit in values]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('profile', type=pathlib.Path)
    parser.add_argument('results', type=pathlib.Path)
    parser.add_argument('--size', default='7680x4320')
    parser.add_argument('--multiprocessors', type=int, required=True)
    parser.add_argument('--why', default='', help='why there is no profile')
    args = parser.parse_args()
    if not args.results.exists():
        print('no rows from the profiler: there are no results to add them to')
        return 0
    data = json.loads(args.results.read_text())
    data['rows'] = [r for r in data['rows'] if r['suite'] != 'profile']
    rows = rows_of(read(args.profile), args.size, args.multiprocessors)
    data['rows'] += rows or [{'suite': 'profile', 'label': 'profile',
                              'error': args.why or 'the profiler left no rows'}]
    args.results.write_text(json.dumps(data, indent=1) + '\n')
    print(f'{len(rows)} rows from the profiler')
    return 0


if __name__ == '__main__':
    sys.exit(main())
