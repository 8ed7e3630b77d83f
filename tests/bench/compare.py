#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Says what became slower between two measurements.

Another clock, or another machine, is no change: a kernel counts by its ratio to the copy measured beside it, a row of
the CPU by its ratio to memcpy, a pipeline on the GPU by its share of the bus measured in the same run, frames in GPU
memory by their time, and every other pipeline by its rate against the rest of its own backend's.
A row is slower when it is so by more than the tolerance, twice that where the cache is cold, and by more than both
rows' own spread.

usage: compare.py OLD.json NEW.json [--tolerance 0.10]
       compare.py OLD.json NEW.json --record     and leaves the result in OLD.json, as a row
Exit status 1 if anything became slower, 2 if the two have no row in common.
"""

import argparse
import json
import pathlib
import statistics
import sys

BUS = {1: 'one byte a pixel', 3: 'three bytes a pixel', 4: 'four bytes a pixel'}
BYTES = {'GRAY8': 1, 'I420': 1, 'NV12': 1, 'RGB': 3, 'RGBA': 4, 'RGBx': 4}


def kernel_cost(row):
    yardstick = row.get('copy_us') or row.get('memcpy_us')
    if not yardstick or not row.get('median_us'):
        return None
    return row['median_us'] / yardstick, row.get('iqr_us', 0) / row['median_us']


def pipeline_costs(rows):
    """label -> cost and spread."""
    both = {(r['what'], r['size']): r['median_us'] for r in rows
            if r['suite'] == 'bus' and r.get('way') == 'both' and 'error' not in r}
    own = [r for r in rows if r['suite'] == 'pipeline' and r.get('fps') and not r.get('live')]
    typical = {backend: statistics.median(r['fps'] for r in own if r.get('backend') == backend)
               for backend in {r.get('backend') for r in own}}
    costs = {}
    for row in own:
        bus = both.get((BUS.get(BYTES.get(row.get('format'))), row.get('size')))
        yardstick = 1e6 / bus if bus and row.get('backend') == 'cuda' else typical[row.get('backend')]
        rates = row.get('fps_all') or [row['fps']]
        costs['pipeline: ' + row['label']] = yardstick / row['fps'], (max(rates) - min(rates)) / row['fps']
    return costs


def costs(data):
    """label -> cost relative to the run's own yardstick, and its spread as a part of itself."""
    found = {}
    for row in data['rows']:
        if row['suite'] in ('kernels', 'cpu') and 'error' not in row:
            cost = kernel_cost(row)
            if cost:
                found[row['suite'] + ': ' + row['label']] = cost
        if row['suite'] == 'filters' and row.get('memcpy_ratio') and row['peer'] == 'cudasobel':
            found['filters: ' + row['label']] = row['memcpy_ratio'], row['spread_us'] / row['median_us']
        if row['suite'] == 'memory' and 'error' not in row:
            found['memory: ' + row['label']] = row['median_us'], row['spread_us'] / row['median_us']
    found.update(pipeline_costs(data['rows']))
    return found


def compare(old, new, tolerance):
    """Lines to print, and how many rows were compared and are slower and faster."""
    lines, slower, faster = [], 0, 0
    both = sorted(old.keys() & new.keys())
    for label in both:
        ratio = new[label][0] / old[label][0]
        # One run of a few us behind a fill of the cache, and a copy timed the same way: seen to repeat within 18 %.
        noise = 2 * tolerance if label.endswith(' cold') else tolerance
        least = 1 + max(noise, old[label][1], new[label][1])
        if ratio > least:
            slower += 1
            lines.append(f'slower {ratio:5.2f}x  {label}')
        elif ratio < 1 / least:
            faster += 1
            lines.append(f'faster {1 / ratio:5.2f}x  {label}')
    lines += [f'gone          {label}' for label in sorted(old.keys() - new.keys())]
    return lines, len(both), slower, faster


def record(path, row):
    data = json.loads(path.read_text())
    data['rows'] = [r for r in data['rows'] if r['suite'] != row['suite']] + [row]
    path.write_text(json.dumps(data, indent=1) + '\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('old', type=pathlib.Path)
    parser.add_argument('new', type=pathlib.Path)
    parser.add_argument('--tolerance', type=float, default=0.10)
    parser.add_argument('--quiet-gone', action='store_true', help='the new run has fewer rows on purpose')
    parser.add_argument('--record', action='store_true', help='NEW is a second run of OLD: leave the result in OLD')
    args = parser.parse_args()
    old, new = (costs(json.loads(path.read_text())) for path in (args.old, args.new))
    if args.quiet_gone:
        old = {label: cost for label, cost in old.items() if label in new}
    lines, count, slower, faster = compare(old, new, args.tolerance)
    print('\n'.join(lines + [f'{count} rows compared: {slower} slower, {faster} faster '
                             f'(tolerance {args.tolerance:.0%}, cold {2 * args.tolerance:.0%})']))
    if args.record and count:
        record(args.old, {'suite': 'second run', 'label': 'second run', 'compared': count, 'slower': slower,
                          'faster': faster, 'tolerance': args.tolerance})
    if count == 0:
        return 2
    return 1 if slower else 0


if __name__ == '__main__':
    sys.exit(main())
