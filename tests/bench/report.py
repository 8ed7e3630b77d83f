#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables and plots of a measurement: results.md, results.csv and, where matplotlib is installed, SVG plots.

usage: report.py RESULTS.json [--out DIR] [--goals]
--goals only prints, for a terminal, what was wanted and what came.
"""

import argparse
import collections
import csv
import json
import pathlib
import sys

import goals
import plots

# What a table shows of a row: (key, heading, how to print).
COLUMNS = {
    'kernels': [('kernel', 'kernel', str), ('format', 'format', str), ('size', 'size', str), ('mode', 'mode', str),
                ('border', 'border', str), ('precision', 'precision', str), ('note', 'setting', str),
                ('state', 'cache', str), ('median_us', 'median µs', '{:.2f}'), ('iqr_us', 'IQR µs', '{:.2f}'),
                ('bytes', 'bytes', '{:,.0f}'), ('gb_s', 'GB/s', '{:,.0f}'), ('copy_us', 'copy µs', '{:.2f}'),
                ('copy_ratio', '× copy', '{:.2f}')],
    'trials': [('answer', 'choice', str), ('format', 'format', str), ('size', 'size', str),
               ('median_us', 'median µs', '{:.2f}'), ('iqr_us', 'IQR µs', '{:.2f}'),
               ('wrong_bytes', 'wrong bytes', '{:,.0f}')],
    'bus': [('what', 'bytes', str), ('size', 'size', str), ('way', 'way', str), ('memory', 'memory', str),
            ('median_us', 'median µs a frame', '{:,.1f}'), ('iqr_us', 'IQR µs', '{:.1f}'), ('gb_s', 'GB/s', '{:.1f}')],
    'frames': [('format', 'format', str), ('size', 'size', str), ('before', 'before', str),
               ('slots', 'slots', '{:.0f}'), ('streams', 'streams', '{:.0f}'), ('strips', 'strips', '{:.0f}'),
               ('submit_us', 'submitted after µs', '{:,.1f}'), ('median_us', 'median µs a frame', '{:,.1f}'),
               ('iqr_us', 'IQR µs', '{:.1f}'), ('fps', 'frames/s', '{:,.0f}')],
    'cpu': [('format', 'format', str), ('case', 'case', str), ('size', 'size', str), ('threads', 'threads', str),
            ('isa', 'ISA', str), ('median_us', 'median µs', '{:,.0f}'), ('memcpy_us', 'memcpy µs', '{:,.0f}'),
            ('memcpy_ratio', '× memcpy', '{:.2f}')],
    'pipeline': [('label', 'run', str), ('format', 'format', str), ('size', 'size', str),
                 ('fps', 'frames/s', '{:,.0f}'), ('spread', 'spread', '{:.0%}'),
                 ('latency_p50_us', 'latency p50 µs', '{:,}'),
                 ('latency_p99_us', 'p99 µs', '{:,}'), ('cpu_us_per_frame', 'CPU µs a frame', '{:,.0f}'),
                 ('copied_per_frame', 'host bytes copied a frame', '{:,.0f}'), ('late', 'late', '{}'),
                 ('meaning', 'what it computes', str), ('device', 'device', str)],
    'memory': [('format', 'format', str), ('size', 'size', str), ('median_us', 'median µs a frame', '{:.2f}'),
               ('spread_us', 'spread µs', '{:.2f}'), ('kernel_us', 'kernel µs', '{:.2f}'),
               ('added_us', 'more µs', '{:.2f}'), ('host_bytes_copied', 'host bytes copied', '{:,.0f}')],
    'filters': [('peer', 'filter', str), ('format', 'format', str), ('on', 'threads', str),
                ('median_us', 'median µs', '{:,.0f}'), ('spread_us', 'spread µs', '{:,.0f}'),
                ('samples', 'runs', '{}'),
                ('cpu_us', 'CPU µs', '{:,.0f}'), ('without_us', 'pipeline without µs', '{:,.0f}'),
                ('memcpy_us', 'memcpy µs', '{:,.0f}'), ('memcpy_ratio', '× memcpy', '{:.2f}'),
                ('meaning', 'what it computes', str)],
    'peers': [('peer', 'peer', str), ('size', 'size', str), ('median_us', 'median µs', '{:,.1f}'),
              ('iqr_us', 'IQR µs', '{:,.1f}'), ('meaning', 'what it computes', str), ('where', 'where', str)],
}
HEADINGS = {'kernels': 'Kernels', 'trials': 'The textbook\'s questions', 'bus': 'Transfers',
            'frames': 'Frames through the device alone', 'memory': 'From GPU memory to GPU memory',
            'profile': 'Profile', 'cpu': 'CPU backend',
            'filters': 'Filters on the CPU, 1920x1080: the pipeline with less the pipeline without',
            'pipeline': 'Whole pipelines', 'peers': 'Peers'}


def cell(row, key, form):
    value = row.get(key)
    if value is None or value == '':
        return ''
    return form.format(value) if isinstance(form, str) else form(value)


def complete(rows):
    """Adds what follows from other columns."""
    for row in rows:
        if row['suite'] == 'pipeline' and 'fps' in row:
            if row.get('frames_in'):
                row['copied_per_frame'] = row['host_bytes_copied'] / row['frames_in']
            rates = row.get('fps_all', [])
            if len(rates) > 1:
                row['spread'] = (max(rates) - min(rates)) / row['fps']
            if not row.get('live_fps'):
                row.pop('late', None)
    return rows


def table(suite, rows):
    columns = [c for c in COLUMNS[suite] if any(row.get(c[0]) not in (None, '') for row in rows)]
    lines, absent = [], [f'- {row.get("label", "?")}: {row["error"]}' for row in rows if 'error' in row]
    if len(absent) < len(rows):
        lines = ['| ' + ' | '.join(c[1] for c in columns) + ' |', '|' + '---|' * len(columns)]
    for row in rows:
        if 'error' not in row:
            lines.append('| ' + ' | '.join(cell(row, key, form) for key, _, form in columns) + ' |')
    if absent:
        lines += ([''] if lines else []) + ['Not measured here:', ''] + absent
    return lines


def profile_table(rows):
    """Metrics down, kernels across."""
    lines = []
    for fmt in dict.fromkeys(r['format'] for r in rows if 'error' not in r):
        own = [r for r in rows if r.get('format') == fmt]
        kernels = list(dict.fromkeys(r['kernel'] for r in own))
        values = {}
        for r in own: # a pass that was run for several kernels counts once
            values.setdefault((r['metric'], r['unit']), {}).setdefault(r['kernel'], r['value'])
        lines += [f'{fmt} {own[0]["size"]}:', '', '| | ' + ' | '.join(kernels) + ' |', '|---|' + '---|' * len(kernels)]
        lines += [f'| {metric}{", " + unit if unit else ""} | ' +
                  ' | '.join(f'{of[k]:,.4g}' if k in of else '' for k in kernels) + ' |'
                  for (metric, unit), of in sorted(values.items(), key=lambda v: v[0][0].startswith('waiting'))] + ['']
    return lines[:-1] + [f'Not measured here: {r["error"]}' for r in rows if 'error' in r]


def describe(host):
    lines = [f'Measured {host["date"]}. GPU: {host["gpu"]}, driver {host["driver"]}. CPU: {host["cpu"]}, '
             f'{host["cores"]} cores. GStreamer {host["gstreamer"]}.']
    watched = host.get('gpu_while_measured')
    if watched:
        lines.append(f'While the kernels were timed the SM clock was {watched["sm_mhz_lowest"]} to '
                     f'{watched["sm_mhz_highest"]} MHz, reasons for slowing down as the driver reports them: '
                     f'{", ".join(watched["clock_reasons"])} (0 and 1: none), '
                     f'at most {watched["temperature_highest"]} °C.')
    if host.get('load', 0) > 0.5 * host['cores']:
        lines.append(f'The machine was busy with other work at the start (load {host["load"]:.1f}).')
    return lines + ['']


def markdown(data):
    groups = collections.OrderedDict()
    for row in data['rows']:
        groups.setdefault((row['suite'], row.get('group', '')), []).append(row)
    lines = describe(data['host'])
    if goals.has_rows(data['rows'], 'kernels', 'bus', 'memory', 'filters'):
        lines += ['## Goals', ''] + goals.table(data['rows']) + ['']
    for suite, heading in HEADINGS.items():
        if suite == 'profile':
            rows = [r for r in data['rows'] if r['suite'] == suite]
            lines += [f'## {heading}', ''] + profile_table(rows) + [''] if rows else []
            continue
        for (name, group), rows in groups.items():
            if name == suite:
                lines += [f'## {heading}{": " + group if group else ""}', ''] + table(suite, rows) + ['']
    return '\n'.join(lines)


def write_csv(path, rows):
    keys = sorted({k for row in rows for k in row if not isinstance(row[k], (list, dict))})
    first = [k for k in ('suite', 'group', 'label') if k in keys]
    with open(path, 'w', newline='') as file:
        writer = csv.DictWriter(file, first + [k for k in keys if k not in first], extrasaction='ignore')
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('results', type=pathlib.Path)
    parser.add_argument('--out', type=pathlib.Path)
    parser.add_argument('--goals', action='store_true')
    args = parser.parse_args()
    data = json.loads(args.results.read_text())
    rows = complete(data['rows'])
    if args.goals:
        print('\n'.join(goals.plain(rows)))
        return 0
    out = args.out or args.results.parent
    out.mkdir(parents=True, exist_ok=True)
    text = markdown(data)
    made = plots.plot_all(rows, out)
    if made:
        text += '\n## Plots\n\n' + '\n'.join(f'![{name[:-4]}]({name})' for name in made) + '\n'
    (out / 'results.md').write_text(text.rstrip('\n') + '\n')
    write_csv(out / 'results.csv', rows)
    print(f'{out}: results.md, results.csv' + ''.join(', ' + name for name in made))
    return 0


if __name__ == '__main__':
    sys.exit(main())
