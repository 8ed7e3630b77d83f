#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables and plots of a measurement: results.md, results.csv and, where matplotlib is installed, SVG plots.

usage: report.py RESULTS.json [--out DIR]
"""

import argparse
import collections
import csv
import json
import pathlib
import sys

# What a table shows of a row: (key, heading, how to print).
COLUMNS = {
    'kernels': [('kernel', 'kernel', str), ('format', 'format', str), ('mode', 'mode', str), ('size', 'size', str),
                ('border', 'border', str), ('precision', 'precision', str), ('state', 'cache', str),
                ('median_us', 'median µs', '{:.2f}'), ('iqr_us', 'IQR µs', '{:.2f}'), ('bytes', 'bytes', '{:,}'),
                ('copy_us', 'copy µs', '{:.2f}'), ('copy_ratio', '× copy', '{:.2f}'), ('note', 'note', str)],
    'cpu': [('format', 'format', str), ('case', 'case', str), ('size', 'size', str), ('threads', 'threads', str),
            ('isa', 'ISA', str), ('median_us', 'median µs', '{:.0f}'), ('memcpy_ratio', '× memcpy', '{:.2f}')],
    'pipeline': [('label', 'run', str), ('format', 'format', str), ('size', 'size', str), ('fps', 'frames/s', '{:,.0f}'),
                 ('latency_p50_us', 'p50 µs', '{:,}'), ('latency_p99_us', 'p99 µs', '{:,}'),
                 ('cpu_us_per_frame', 'CPU µs a frame', '{:.0f}'), ('copied_per_frame', 'host bytes copied a frame', '{:,.0f}'),
                 ('late', 'late', '{}'), ('backend', 'backend', str)],
    'peers': [('peer', 'peer', str), ('size', 'size', str), ('median_us', 'median µs', '{:,.1f}'),
              ('iqr_us', 'IQR µs', '{:,.1f}'), ('meaning', 'what it computes', str), ('where', 'where', str)],
}
HEADINGS = {'kernels': 'Kernels', 'cpu': 'CPU backend', 'pipeline': 'Whole pipelines', 'peers': 'Peers'}


def cell(row, key, form):
    value = row.get(key)
    if value is None or value == '':
        return ''
    return form.format(value) if isinstance(form, str) else form(value)


def complete(rows):
    """Adds what follows from other columns."""
    for row in rows:
        if row['suite'] == 'pipeline' and 'fps' in row:
            row['copied_per_frame'] = row['host_bytes_copied'] / row['frames']
        if row.get('copy_us') and row.get('median_us') and 'copy_ratio' not in row:
            row['copy_ratio'] = row['median_us'] / row['copy_us']
    return rows


def table(suite, rows):
    columns = [c for c in COLUMNS[suite] if any(c[0] in row for row in rows)]
    lines = ['| ' + ' | '.join(c[1] for c in columns) + ' |', '|' + '---|' * len(columns)]
    for row in rows:
        if 'error' not in row:
            lines.append('| ' + ' | '.join(cell(row, key, form) for key, _, form in columns) + ' |')
    absent = [f'- {row.get("label", "?")}: {row["error"]}' for row in rows if 'error' in row]
    if absent:
        lines += ['', 'Not measured here:', ''] + absent
    return lines


def markdown(data):
    host = data['host']
    lines = [f'Measured {host["date"]}: GPU {host["gpu"]}, driver {host["driver"]}; CPU {host["cpu"]}, '
             f'{host["cores"]} cores; GStreamer {host["gstreamer"]}.', '']
    if host.get('gpu_state'):
        lines += [f'Clocks and throttling before: {host["gpu_state"]}; after: {host.get("gpu_state_after", "?")}.', '']
    groups = collections.defaultdict(list)
    for row in data['rows']:
        groups[row['suite'], row.get('group', '')].append(row)
    for suite in HEADINGS:
        for (name, group), rows in groups.items():
            if name == suite:
                lines += [f'## {HEADINGS[suite]}{": " + group if group else ""}', ''] + table(suite, rows) + ['']
    return '\n'.join(lines)


def write_csv(path, rows):
    keys = sorted({k for row in rows for k in row if not isinstance(row[k], (list, dict))})
    with open(path, 'w', newline='') as file:
        writer = csv.DictWriter(file, keys, extrasaction='ignore')
        writer.writeheader()
        writer.writerows(rows)


# ---- plots ------------------------------------------------------------------------------------------


def pixels(row):
    width, height = (int(n) for n in row['size'].split('x'))
    return width * height


def save(pyplot, figure, out, name):
    figure.tight_layout()
    figure.savefig(out / name)
    pyplot.close(figure)
    return name


def plot_kernels(pyplot, rows, out):
    """Time against size, and the share of the copy's bandwidth: one line a kernel."""
    made = []
    rows = [r for r in rows if r.get('median_us') and r.get('copy_us') and r.get('mode', 'edges') == 'edges' and
            r.get('border', 'replicate') == 'replicate' and r.get('precision', 'integer') == 'integer' and
            r.get('state', 'steady') == 'steady']
    for fmt in sorted({r['format'] for r in rows}):
        own = [r for r in rows if r['format'] == fmt]
        if len({r['size'] for r in own}) < 2:
            continue
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2))
        for kernel in dict.fromkeys(r['kernel'] for r in own):
            line = sorted((r for r in own if r['kernel'] == kernel), key=pixels)
            x = [pixels(r) for r in line]
            left.plot(x, [r['median_us'] for r in line], marker='o', label=kernel)
            right.plot(x, [100 * r['copy_us'] / r['median_us'] for r in line], marker='o', label=kernel)
        line = sorted({pixels(r): r['copy_us'] for r in own}.items())
        left.plot([p[0] for p in line], [p[1] for p in line], 'k--', label='device copy of the same bytes')
        left.set(xscale='log', yscale='log', xlabel='pixels', ylabel='µs', title=f'{fmt}: time')
        right.set(xscale='log', xlabel='pixels', ylabel='% of the copy', title=f'{fmt}: share of the copy\'s bandwidth',
                  ylim=(0, 110))
        left.legend(fontsize=8)
        left.grid(alpha=0.3)
        right.grid(alpha=0.3)
        made.append(save(pyplot, figure, out, f'kernels-{fmt.lower()}.svg'))
    return made


def plot_roofline(pyplot, rows, out):
    rows = [r for r in rows if r.get('ops_per_byte') and r.get('median_us') and r.get('peak_ops')]
    if not rows:
        return []
    figure, axis = pyplot.subplots(figsize=(7, 4.5))
    bandwidth = max(r['bytes'] / r['copy_us'] for r in rows) * 1e6
    peak = max(r['peak_ops'] for r in rows)
    x = [2 ** (k / 4) for k in range(-8, 40)]
    axis.plot(x, [min(peak, bandwidth * v) for v in x], 'k-', label='limit: copy bandwidth, instruction issue')
    for kernel in dict.fromkeys(r['kernel'] for r in rows):
        own = [r for r in rows if r['kernel'] == kernel]
        axis.scatter([r['ops_per_byte'] for r in own],
                     [r['ops_per_byte'] * r['bytes'] / r['median_us'] * 1e6 for r in own], label=kernel)
    axis.set(xscale='log', yscale='log', xlabel='instructions a byte moved', ylabel='instructions a second',
             title='Roofline')
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3)
    return [save(pyplot, figure, out, 'roofline.svg')]


def plot_bars(pyplot, rows, out, group, name, title, xlabel):
    own = [r for r in rows if r.get('group') == group and r.get('fps')]
    if not own:
        return []
    figure, axis = pyplot.subplots(figsize=(8, 4.2))
    for fmt in dict.fromkeys((r['format'], r.get('backend', '')) for r in own):
        line = [r for r in own if (r['format'], r.get('backend', '')) == fmt]
        axis.plot([r['label'].replace(fmt[0], '').strip() for r in line], [r['fps'] for r in line], marker='o',
                  label=' '.join(fmt))
    axis.set(ylabel='frames a second', xlabel=xlabel, title=title, ylim=(0, None))
    axis.tick_params(axis='x', labelrotation=30, labelsize=8)
    axis.legend(fontsize=8)
    axis.grid(alpha=0.3)
    return [save(pyplot, figure, out, name)]


def plot_latency(pyplot, rows, out):
    own = [r for r in rows if r.get('group') in ('live', 'ring', 'formats') and r.get('latency_p50_us')]
    if not own:
        return []
    figure, axis = pyplot.subplots(figsize=(8, 0.28 * len(own) + 1.6))
    names = [r['label'] for r in own]
    axis.barh(names, [r['latency_p99_us'] for r in own], color='#cccccc', label='p99')
    axis.barh(names, [r['latency_p50_us'] for r in own], color='#3366aa', label='median')
    axis.set(xscale='log', xlabel='µs from the source to the sink', title='Latency of a frame')
    axis.tick_params(axis='y', labelsize=7)
    axis.invert_yaxis()
    axis.legend(fontsize=8)
    return [save(pyplot, figure, out, 'latency.svg')]


def plot_all(data, out):
    try:
        import matplotlib
        matplotlib.use('svg')
        matplotlib.rcParams['svg.hashsalt'] = 'cudasobel'
        from matplotlib import pyplot
    except ImportError:
        print('no plots: matplotlib is not installed (Debian: python3-matplotlib)')
        return []
    kernels = [r for r in data['rows'] if r['suite'] == 'kernels']
    pipeline = [r for r in data['rows'] if r['suite'] == 'pipeline']
    made = plot_kernels(pyplot, kernels, out) + plot_roofline(pyplot, kernels, out) + plot_latency(pyplot, pipeline, out)
    for group, name, title, xlabel in (
            ('ring', 'ring.svg', 'Frames in flight against rate, 1080p', 'ring-size'),
            ('streams', 'streams.svg', 'CUDA streams against rate, 1080p I420', ''),
            ('strips', 'strips.svg', 'Strips against rate, one 7680×4320 RGB frame at a time', ''),
            ('elements', 'elements.svg', 'Elements at once against their total rate, 1080p I420', ''),
            ('threads', 'threads.svg', 'CPU threads against rate, 1080p I420', '')):
        made += plot_bars(pyplot, pipeline, out, group, name, title, xlabel)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('results', type=pathlib.Path)
    parser.add_argument('--out', type=pathlib.Path)
    args = parser.parse_args()
    out = args.out or args.results.parent
    out.mkdir(parents=True, exist_ok=True)
    data = json.loads(args.results.read_text())
    rows = complete(data['rows'])
    text = markdown(data)
    made = plot_all(data, out)
    if made:
        text += '\n## Plots\n\n' + '\n'.join(f'![{name[:-4]}]({name})' for name in made) + '\n'
    (out / 'results.md').write_text(text + ('' if text.endswith('\n') else '\n'))
    write_csv(out / 'results.csv', rows)
    print(f'{out}: results.md, results.csv' + ''.join(', ' + name for name in made))
    return 0


if __name__ == '__main__':
    sys.exit(main())
