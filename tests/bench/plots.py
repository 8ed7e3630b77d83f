# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plots of a measurement, as SVG through matplotlib; none where that is not installed."""

STAGES = (('upload', 'up', 'uploaded_us', '#4477aa'), ('kernel', 'uploaded_us', 'computed_us', '#cc3311'),
          ('download', 'down', 'downloaded_us', '#228833'), ('waits for the bus', 'start_us', 'up', '#d8d8d8'),
          ('waits for the bus', 'computed_us', 'down', '#d8d8d8'))


def with_waits(rows):
    """The bus carries one transfer a direction at a time: one begins when its stream comes to it and the transfer of
    the frame before is over."""
    done_up = done_down = float('-inf')
    for r in sorted(rows, key=lambda r: r['frame']):
        yield {**r, 'up': max(r['start_us'], min(done_up, r['uploaded_us'])),
               'down': max(r['computed_us'], min(done_down, r['downloaded_us']))}
        done_up, done_down = r['uploaded_us'], r['downloaded_us']


def pixels(row):
    width, height = (int(n) for n in row['size'].split('x'))
    return width * height


def once(values):
    return list(dict.fromkeys(values))


class Plotter:
    def __init__(self, pyplot, rows, out):
        self.pyplot, self.rows, self.out, self.made = pyplot, [r for r in rows if 'error' not in r], out, []

    def suite(self, name, **wanted):
        return [r for r in self.rows if r['suite'] == name and all(r.get(k) == v for k, v in wanted.items())]

    def save(self, figure, name):
        figure.tight_layout()
        figure.savefig(self.out / name, metadata={'Date': None})
        self.pyplot.close(figure)
        self.made.append(name)

    # ---- kernels ----

    def kernels(self):
        """Time against size, and the share of the copy's bandwidth: one line a kernel."""
        rows = self.suite('kernels', group='sizes', state='steady')
        for fmt in once(r['format'] for r in rows):
            own = [r for r in rows if r['format'] == fmt]
            if len({r['size'] for r in own}) < 2:
                continue
            figure, (left, right) = self.pyplot.subplots(1, 2, figsize=(11, 4.2))
            for kernel in once(r['kernel'] for r in own):
                line = sorted((r for r in own if r['kernel'] == kernel), key=pixels)
                x = [pixels(r) for r in line]
                left.plot(x, [r['median_us'] for r in line], marker='o', label=kernel)
                right.plot(x, [100 * r['copy_us'] / r['median_us'] for r in line], marker='o', label=kernel)
            line = sorted({pixels(r): r['copy_us'] for r in own}.items())
            left.plot([p[0] for p in line], [p[1] for p in line], 'k--', label='device copy of the same bytes')
            left.set(xscale='log', yscale='log', xlabel='pixels', ylabel='µs', title=f'{fmt}: time of a picture')
            right.set(xscale='log', xlabel='pixels', ylabel='% of the copy\'s bandwidth', ylim=(0, None),
                      title=f'{fmt}: share of the limit')
            right.axhline(100, color='k', linestyle='--', linewidth=0.8)
            left.legend(fontsize=8)
            left.grid(alpha=0.3)
            right.grid(alpha=0.3)
            self.save(figure, f'kernels-{fmt.lower()}.svg')

    def roofline(self):
        """Of the profiler's own counts; without those there is no roofline."""
        values = {}
        for r in self.suite('profile'):
            values.setdefault((r['kernel'], r['format'], r['size']), {})[r['metric']] = r['value']
        needed = ('instructions', 'duration', 'issue peak')
        points, limits = [], []
        for (kernel, fmt, size), v in values.items():
            # In RGB the textbook's kernels are one pass of three: their counts are not those of the row's time.
            if fmt == 'RGB' and not kernel.startswith('fused'):
                continue
            row = next((r for r in self.suite('kernels', group='sizes', state='steady', kernel=kernel, format=fmt,
                                              size=size)), None)
            if row is None or any(k not in v for k in needed):
                continue
            points.append((f'{kernel} {fmt}', v['instructions'] / row['bytes'],
                           v['instructions'] / row['median_us'] / 1e3))
            limits.append((row['bytes'] / row['copy_us'] / 1e3, v['issue peak']))
        if not points:
            return
        figure, axis = self.pyplot.subplots(figsize=(7.5, 4.8))
        bandwidth, peak = max(b for b, _ in limits), max(p for _, p in limits)
        x = [2 ** (k / 4) / 64 for k in range(0, 48)]
        axis.plot(x, [min(peak, bandwidth * v) for v in x], 'k-', label='limits: device copy, instruction issue')
        for name, at, rate in points:
            axis.scatter([at], [rate], label=name)
        axis.set(xscale='log', yscale='log', xlabel='warp instructions a byte that has to move',
                 ylabel='10⁹ warp instructions a second', title='Roofline')
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
        self.save(figure, 'roofline.svg')

    def trials(self):
        rows = self.suite('trials')
        groups = once(r['group'] for r in rows)
        if not groups:
            return
        figure, axes = self.pyplot.subplots(1, len(groups), figsize=(4.2 * len(groups), 4), squeeze=False)
        for axis, group in zip(axes[0], groups):
            own = [r for r in rows if r['group'] == group]
            axis.bar([r['answer'] for r in own], [r['median_us'] for r in own], color='#4477aa')
            axis.set(title=f'{group}, {own[0]["format"]} {own[0]["size"]}', ylabel='µs')
            axis.tick_params(axis='x', labelrotation=60, labelsize=7)
        self.save(figure, 'trials.svg')

    # ---- pipelines ----

    def lines(self, group, name, title, xlabel, key):
        """Rate against a number: one line a format and backend."""
        own = [r for r in self.suite('pipeline', group=group) if r.get(key) is not None]
        if len({r[key] for r in own}) < 2:
            return
        figure, axis = self.pyplot.subplots(figsize=(7.5, 4.2))
        for which in once((r.get('backend', ''), r['format']) for r in own):
            line = [r for r in own if (r.get('backend', ''), r['format']) == which]
            axis.plot([str(r[key]) for r in line], [r['fps'] for r in line], marker='o', label=' '.join(which))
        axis.set(ylabel='frames a second', xlabel=xlabel, title=title, ylim=(0, None))
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
        self.save(figure, name)

    def sizes(self):
        """Where the GPU wins, transfers and all."""
        own = self.suite('pipeline', group='formats')
        if len({r['size'] for r in own}) < 2:
            return
        figure, axis = self.pyplot.subplots(figsize=(7.5, 4.5))
        for which in once((r.get('backend', ''), r['format']) for r in own):
            line = sorted((r for r in own if (r.get('backend', ''), r['format']) == which), key=pixels)
            if len(line) > 1:
                axis.plot([pixels(r) for r in line], [1e6 / r['fps'] for r in line], label=' '.join(which),
                          marker='o', linestyle='-' if which[0] == 'cuda' else '--')
        axis.set(xscale='log', yscale='log', xlabel='pixels', ylabel='µs a frame', title='Whole pipelines')
        axis.legend(fontsize=8)
        axis.grid(alpha=0.3)
        self.save(figure, 'sizes.svg')

    def latency(self):
        own = self.suite('pipeline', group='live')
        if not own:
            return
        names = [r['label'] for r in own]
        figure, axis = self.pyplot.subplots(figsize=(8, 0.4 * len(own) + 1.4))
        axis.barh(names, [r['latency_p99_us'] for r in own], color='#cccccc', label='p99')
        axis.barh(names, [r['latency_p50_us'] for r in own], color='#4477aa', label='median')
        axis.set(xscale='log', xlabel='µs from the source to the sink', title='Latency of a live frame')
        axis.tick_params(axis='y', labelsize=7)
        axis.invert_yaxis()
        axis.legend(fontsize=8)
        self.save(figure, 'latency.svg')

    def histograms(self):
        own = [r for r in self.suite('pipeline', group='live') if r.get('latency_bins')]
        if not own:
            return
        figure, axis = self.pyplot.subplots(figsize=(8, 4.5))
        for r in own:
            bins = r['latency_bins']
            axis.step([b[0] for b in bins], [b[1] for b in bins], where='post', label=r['label'])
        axis.set(xscale='log', xlabel='µs from the source to the sink', ylabel='frames',
                 title='Latency of live frames')
        axis.legend(fontsize=7)
        axis.grid(alpha=0.3)
        self.save(figure, 'latency-histogram.svg')

    def timeline(self):
        """Stages of consecutive frames, one lane a stream, ring-size 1 above 4 on one scale."""
        rows = self.suite('timeline')
        for fmt in once(r['format'] for r in rows):
            rings = once(r['ring'] for r in rows if r['format'] == fmt)
            figure, axes = self.pyplot.subplots(len(rings), 1, figsize=(11, 1.6 + 1.7 * len(rings)), squeeze=False)
            end = max(r['downloaded_us'] for r in rows if r['format'] == fmt and r['ring'] == max(rings))
            for axis, ring in zip((a[0] for a in axes), rings):
                own = list(with_waits(r for r in rows if r['format'] == fmt and r['ring'] == ring))
                own = [r for r in own if r['start_us'] < end]
                named = set()
                streams = sorted({r['stream'] for r in own})
                for r in own:
                    for stage, begin, until, color in STAGES:
                        if r[until] <= r[begin]:
                            continue
                        axis.barh(streams.index(r['stream']), r[until] - r[begin], left=r[begin], height=0.7,
                                  color=color, edgecolor='white', linewidth=0.3,
                                  label=None if stage in named else stage)
                        named.add(stage)
                    axis.text(r['up'], streams.index(r['stream']), f' {r["frame"]:.0f}', fontsize=7,
                              color='white', va='center', clip_on=True)
                axis.set(xlim=(0, end), title=f'ring-size {ring:.0f}', yticks=range(len(streams)),
                         yticklabels=[f'stream {s:.0f}' for s in streams])
                axis.invert_yaxis()
            axes[-1][0].legend(fontsize=7, loc='upper center', bbox_to_anchor=(0.5, -0.32), ncol=4)
            axes[-1][0].set_xlabel(f'µs on the GPU, {fmt} {rows[0]["size"]}; the number is the frame\'s')
            self.save(figure, f'timeline-{fmt.lower()}.svg')


def plot_all(rows, out):
    """The names of the files made."""
    try:
        import matplotlib
        matplotlib.use('svg')
        from matplotlib import pyplot
    except ImportError:
        print('no plots: matplotlib is not installed (Debian: python3-matplotlib)')
        return []
    matplotlib.rcParams['svg.hashsalt'] = 'cudasobel'
    p = Plotter(pyplot, rows, out)
    p.kernels()
    p.roofline()
    p.trials()
    p.sizes()
    p.lines('ring', 'ring.svg', 'Frames in flight against rate, 1080p', 'ring-size', 'at')
    p.lines('streams', 'streams.svg', 'CUDA streams against rate, 1080p', 'streams', 'at')
    p.lines('strips', 'strips.svg', 'Strips against rate, one 7680×4320 RGB frame at a time', 'strips', 'at')
    p.lines('elements', 'elements.svg', 'Elements at once against their total rate, 1080p', 'elements', 'elements')
    p.lines('threads', 'threads.svg', 'Threads of the CPU backend against rate, 1080p', 'n-threads', 'at')
    p.latency()
    p.histograms()
    p.timeline()
    return p.made
