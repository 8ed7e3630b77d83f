#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Says what became slower between two measurements.

Kernels are compared by their ratio to the copy measured beside them, pipelines by their rate relative to the same
run's plain RGB row of the same backend, so that another machine or clock does not count as a change.

usage: compare.py OLD.json NEW.json [--tolerance 0.10]
Exit status 1 if anything became slower by more than the tolerance.
"""

import argparse
import json
import pathlib
import statistics
import sys


def costs(data):
    """label -> cost relative to the run's own yardstick."""
    out = {}
    rows = data['rows']
    for row in rows:
        if row['suite'] in ('kernels', 'cpu') and 'error' not in row:
            yardstick = row.get('copy_us') or row.get('memcpy_us')
            if yardstick and row.get('median_us'):
                out[row['suite'] + ': ' + row['label']] = row['median_us'] / yardstick
    for backend in {r.get('backend') for r in rows if r['suite'] == 'pipeline' and r.get('fps')}:
        own = [r for r in rows if r['suite'] == 'pipeline' and r.get('fps') and r.get('backend') == backend]
        yardstick = statistics.median(r['fps'] for r in own)
        out.update({'pipeline: ' + r['label']: yardstick / r['fps'] for r in own if not r.get('live')})
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('old', type=pathlib.Path)
    parser.add_argument('new', type=pathlib.Path)
    parser.add_argument('--tolerance', type=float, default=0.10)
    args = parser.parse_args()
    old, new = (costs(json.loads(path.read_text())) for path in (args.old, args.new))
    slower = faster = 0
    for label in sorted(old.keys() & new.keys()):
        ratio = new[label] / old[label]
        if ratio > 1 + args.tolerance:
            slower += 1
            print(f'slower {ratio:5.2f}x  {label}')
        elif ratio < 1 / (1 + args.tolerance):
            faster += 1
            print(f'faster {1 / ratio:5.2f}x  {label}')
    for label in sorted(old.keys() - new.keys()):
        print(f'gone          {label}')
    print(f'{len(old.keys() & new.keys())} rows compared: {slower} slower, {faster} faster '
          f'(tolerance {args.tolerance:.0%})')
    return 1 if slower else 0


if __name__ == '__main__':
    sys.exit(main())
