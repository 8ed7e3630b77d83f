# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plots of a measurement, as SVG through matplotlib; none where that is not installed."""

BLUE, RED, GREEN, ORANGE, PURPLE, GRAY = '#4477aa', '#cc3311', '#228833', '#ee8866', '#aa3377', '#d8d8d8'
STAGES = (('upload', 'up', 'uploaded_us', BLUE), ('kernel', 'uploaded_us', 'computed_us', RED),
          ('download', 'down', 'downloaded_us', GREEN), ('waits for the bus', 'start_us', 'up', GRAY),
          ('waits for the bus', 'computed_us', 'down', GRAY))
KERNELS = {'naive': BLUE, 'constant': ORANGE, 'shared': GREEN, 'fused': RED, 'fused, general form': PURPLE}
NAMES = {'1280x720': '720p', '1920x1080': '1080p', '3840x2160': '2160p', '7680x4320': '4320p', '16384x16384': '16384²'}
ON_THE_BUS = {'GRAY8': 'one byte a pixel', 'I420': 'one byte a pixel', 'NV12': 'one byte a pixel',
              'RGB': 'three bytes a pixel', 'RGBA': 'four bytes a pixel'}


def with_waits(rows):
    """The bus carries one transfer a direction at a time: one begins when its stream comes to it and the transfer of
    the frame before is over."""
    done_up = done_down = float('-inf')
    for r in sorted(rows, key=lambda r: r['frame']):
        yield {**r, 'up': max(r['start_us'], min(done_up, r['uploaded_us'])),
               'down': max(r['computed_us'], min(done_down, r['downloaded_us']))}
        done_up, done_down = r['uploaded_us'], r['downloaded_us']


def frame_us(rows):
    """From the end of the first frame to the end of the last, for each of those between."""
    ends = sorted(r['downloaded_us'] for r in rows)
    return (ends[-1] - ends[0]) / max(len(ends) - 1, 1)


def pixels(row):
    width, height = (int(n) for n in row['size'].split('x'))
    return width * height


def name_of(size):
    return NAMES.get(size, size.replace('x', '×'))


def once(values):
    return list(dict.fromkeys(values))


class Plotter:
    def __init__(self, pyplot, rows, out):
        self.pyplot, self.rows, self.out, self.made = pyplot, [r for r in rows if 'error' not in r], out, []

    def suite(self, name, **wanted):
        return [r for r in self.rows if r['suite'] == name and all(r.get(k) == v for k, v in wanted.items())]

    def bus_us(self, fmt, size, way='both'):
        rows = self.suite('bus', what=ON_THE_BUS.get(fmt), size=size, way=way, memory='pinned')
        return rows[0]['median_us'] if rows else None

    def save(self, figure, name):
        figure.tight_layout()
        figure.savefig(self.out / name, metadata={'Date': None}, bbox_inches='tight')
        self.pyplot.close(figure)
        self.made.append(name)

    def below(self, figure, axis, columns, y=0.0):
        """One legend for the figure, under it, where it covers nothing."""
        handles, labels = axis.get_legend_handles_labels()
        figure.legend(handles, labels, fontsize=8, loc='upper center', bbox_to_anchor=(0.5, y), ncol=columns,
                      frameon=False)

    @staticmethod
    def size_axis(axis, rows):
        """Pictures by name instead of powers of ten."""
        sizes = sorted({(pixels(r), name_of(r['size'])) for r in rows})
        axis.set_xscale('log')
        axis.set_xticks([p for p, _ in sizes])
        axis.set_xticklabels([n for _, n in sizes], fontsize=8)
        axis.minorticks_off()
        axis.grid(alpha=0.3)

    @staticmethod
    def bars(axis, names, values, colors, form='{:,.1f}'):
        """Lying ones, each with its number."""
        axis.barh(names, values, color=colors, height=0.7)
        for k, value in enumerate(values):
            axis.text(value, k, ' ' + form.format(value), va='center', fontsize=8)
        axis.set_xlim(0, 1.18 * max(values))
        axis.tick_params(axis='y', labelsize=8)
        axis.invert_yaxis()

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
                for axis, y in ((left, [r['median_us'] for r in line]),
                                (right, [100 * r['copy_us'] / r['median_us'] for r in line])):
                    axis.plot(x, y, marker='o', markersize=4, label=kernel, color=KERNELS.get(kernel))
            line = sorted({pixels(r): r['copy_us'] for r in own}.items())
            left.plot([p[0] for p in line], [p[1] for p in line], 'k--', label='device copy of the same bytes')
            right.axhline(100, color='k', linestyle='--')
            for axis in (left, right):
                self.size_axis(axis, own)
            left.set(yscale='log', ylabel='µs a picture', title=f'Kernels, {fmt}: time')
            right.set(ylabel='% of the copy\'s bandwidth', ylim=(0, 108), title=f'Kernels, {fmt}: share of the limit')
            self.below(figure, left, 6)
            self.save(figure, f'kernels-{fmt.lower()}.svg')

    def roofline_points(self):
        """Names, instructions a byte, instructions a second; and the two limits. From the profiler's own counts."""
        values, points, limits = {}, [], []
        for r in self.suite('profile'):
            values.setdefault((r['kernel'], r['format'], r['size']), {})[r['metric']] = r['value']
        for (kernel, fmt, size), v in values.items():
            # In RGB the textbook's kernels are one pass of three: their counts are not those of the row's time.
            if fmt == 'RGB' and not kernel.startswith('fused'):
                continue
            rows = self.suite('kernels', group='sizes', state='steady', kernel=kernel, format=fmt, size=size)
            if not rows or any(k not in v for k in ('instructions', 'issue peak')):
                continue
            row = rows[0]
            points.append((kernel, fmt, size, v['instructions'] / row['bytes'],
                           v['instructions'] / row['median_us'] / 1e3))
            limits.append((row['bytes'] / row['copy_us'] / 1e3, v['issue peak']))
        return points, limits

    def roofline(self):
        points, limits = self.roofline_points()
        if not points:
            return
        figure, axis = self.pyplot.subplots(figsize=(8, 4.6))
        bandwidth, peak = max(b for b, _ in limits), max(p for _, p in limits)
        corner, first, last = peak / bandwidth, min(p[3] for p in points) / 3, max(p[3] for p in points) * 3
        axis.plot([first, corner], [bandwidth * first, peak], 'k-')
        axis.plot([corner, last], [peak, peak], 'k-')
        for kernel, fmt, _, at, rate in points:
            axis.scatter([at], [rate], label=f'{kernel}, {fmt}', color=KERNELS.get(kernel),
                         marker='s' if fmt == 'RGB' else 'o', zorder=3)
        axis.set(xscale='log', yscale='log', xlabel='warp instructions for each byte that has to move',
                 ylabel='10⁹ warp instructions a second', title=f'Roofline of the kernels, {name_of(points[0][2])}')
        axis.set_ylim(bandwidth * first * 0.8, peak * 1.6)
        low, high = axis.get_ylim()
        ticks = [v for v in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if low < v < high]
        axis.set_yticks(ticks)
        axis.set_yticklabels([f'{v:,}' for v in ticks])
        axis.text(first * 1.7, bandwidth * first * 1.5, f'device copy: {bandwidth:,.0f} GB/s', fontsize=8, va='top')
        axis.text((corner * last) ** 0.5, peak * 1.06, f'one instruction a cycle and scheduler: {peak:,.0f}·10⁹/s',
                  fontsize=8, ha='center', va='bottom')
        axis.legend(fontsize=8, loc='lower right')
        axis.grid(alpha=0.3)
        self.save(figure, 'roofline.svg')

    def trials(self):
        rows = self.suite('trials')
        groups = once(r['group'] for r in rows)
        if not groups:
            return
        figure, axes = self.pyplot.subplots((len(groups) + 1) // 2, 2, figsize=(11, 2.7 * ((len(groups) + 1) // 2)),
                                            squeeze=False)
        cells = [axis for line in axes for axis in line]
        for axis, group in zip(cells, groups):
            own = [r for r in rows if r['group'] == group]
            colors = [RED if r.get('wrong_bytes') else GREEN if r['answer'].startswith('the element') else BLUE
                      for r in own]
            names = [r['answer'] + (' (wrong bytes)' if r.get('wrong_bytes') else '') for r in own]
            self.bars(axis, names, [r['median_us'] for r in own], colors)
            what = group if own[0]['format'] in group else f'{group}, {own[0]["format"]}'
            axis.set(title=f'{what} {name_of(own[0]["size"])}', xlabel='µs a picture')
        for axis in cells[len(groups):]:
            axis.set_visible(False)
        self.save(figure, 'trials.svg')

    # ---- pipelines ----

    def lines(self, group, name, title, xlabel, key, bus=False):
        """Rate against a number: one line a format and backend, with the bus's own limit where it is asked for."""
        own = [r for r in self.suite('pipeline', group=group) if r.get(key) is not None]
        if len({r[key] for r in own}) < 2:
            return
        figure, axis = self.pyplot.subplots(figsize=(7.5, 4.2))
        for which, color in zip(once((r.get('backend', ''), r['format']) for r in own), (BLUE, ORANGE, GREEN, PURPLE)):
            line = [r for r in own if (r.get('backend', ''), r['format']) == which]
            axis.plot([str(r[key]) for r in line], [r['fps'] for r in line], marker='o', label=' '.join(which),
                      color=color)
            limit = self.bus_us(which[1], line[0]['size']) if bus and which[0] == 'cuda' else None
            if limit:
                axis.axhline(1e6 / limit, color=color, linestyle='--', linewidth=1,
                             label=f'the bus, both ways, {which[1]}')
        axis.set(ylabel='frames a second', xlabel=xlabel, title=title, ylim=(0, None))
        axis.grid(alpha=0.3)
        self.below(figure, axis, 4)
        self.save(figure, name)

    def strips(self):
        """Time of one frame alone, against what its upload takes."""
        own = self.suite('pipeline', group='strips')
        if len(own) < 2:
            return
        figure, axis = self.pyplot.subplots(figsize=(7.5, 0.42 * len(own) + 1.3))
        self.bars(axis, [str(r['at']) for r in own], [1e6 / r['fps'] for r in own],
                  [GREEN if r['at'] == 'auto' else BLUE for r in own], '{:,.0f}')
        up = self.bus_us(own[0]['format'], own[0]['size'], 'up')
        if up:
            axis.axvline(up, color='k', linestyle='--', linewidth=1)
            axis.text(up, 1.01, f'its upload alone: {up:,.0f}', fontsize=8, ha='center', va='bottom',
                      transform=axis.get_xaxis_transform())
        axis.set(xlabel='µs a frame, in and out', ylabel='strips')
        axis.set_title(f'One {own[0]["format"]} frame of {name_of(own[0]["size"])} at a time, cut into strips', pad=16)
        self.save(figure, 'strips.svg')

    def sizes(self):
        """Where the GPU wins, transfers and all."""
        own = self.suite('pipeline', group='formats')
        if len({r['size'] for r in own}) < 2:
            return
        figure, axis = self.pyplot.subplots(figsize=(8, 4.5))
        several = {(r.get('backend', ''), r['format']) for r in own if r['size'] != '1920x1080'}
        colors = dict(zip(sorted({f for _, f in several}), (BLUE, ORANGE, GREEN, PURPLE)))
        shown = [r for r in own if (r.get('backend', ''), r['format']) in several]
        for which in once((r.get('backend', ''), r['format']) for r in shown):
            line = sorted((r for r in shown if (r.get('backend', ''), r['format']) == which), key=pixels)
            axis.plot([pixels(r) for r in line], [1e6 / r['fps'] for r in line], label=' '.join(which), marker='o',
                      linestyle='-' if which[0] == 'cuda' else '--', color=colors[which[1]])
        self.size_axis(axis, shown)
        axis.set(yscale='log', ylabel='µs a frame', title='Whole pipelines by size, transfers included')
        axis.legend(fontsize=8)
        self.save(figure, 'sizes.svg')

    def histograms(self):
        """Latency of live frames: a strip a run, all on one scale."""
        own = [r for r in self.suite('pipeline', group='live') if r.get('latency_bins')]
        if not own:
            return
        figure, axes = self.pyplot.subplots(len(own), 1, figsize=(9, 0.62 * len(own) + 1.1), sharex=True, squeeze=False)
        for axis, r in zip((a[0] for a in axes), own):
            bins = r['latency_bins'] + [[r['latency_bins'][-1][0] * 2 ** 0.125, 0]]
            axis.fill_between([b[0] for b in bins], [b[1] for b in bins], step='post', color=BLUE, linewidth=0)
            axis.axvline(r['latency_p50_us'], color=RED, linewidth=1, label='median')
            axis.axvline(r['latency_p99_us'], color='k', linewidth=1, linestyle=':', label='p99')
            axis.set(xscale='log', yticks=[], ylim=(0, 1.05 * max(b[1] for b in bins)))
            axis.set_ylabel(r['label'], rotation=0, ha='right', va='center', fontsize=8)
            axis.text(1.01, 0.5, f'{r["latency_p50_us"]:,} / {r["latency_p99_us"]:,} µs', transform=axis.transAxes,
                      va='center', fontsize=8)
        axes[0][0].set_title('Latency of live frames: how many took how long; right: median / p99')
        axes[-1][0].set_xlabel('µs from the source to the sink')
        self.below(figure, axes[0][0], 2)
        self.save(figure, 'latency-histogram.svg')

    def filters(self):
        """Filters on the CPU: time of the filter alone, gray and RGB."""
        rows = self.suite('filters')
        panels = [(title, [r for r in rows if r['format'] in formats]) for title, formats in
                  (('gray, and luma of I420', ('GRAY8', 'gray', 'I420')), ('RGB', ('RGB',)))]
        panels = [(title, own) for title, own in panels if own]
        if not panels:
            return
        figure, axes = self.pyplot.subplots(len(panels), 1, squeeze=False,
                                            figsize=(8.5, 0.32 * sum(len(own) for _, own in panels) + 1.7),
                                            gridspec_kw={'height_ratios': [len(own) for _, own in panels]})
        for axis, (title, own) in zip((a[0] for a in axes), panels):
            colors = [{'cudasobel': GREEN, 'memcpy': '#999999'}.get(r['peer'], ORANGE) for r in own]
            names = [f'{r["peer"]} {r["format"]}, {r["on"]}' for r in own]
            self.bars(axis, names, [r['median_us'] for r in own], colors, '{:,.0f}')
            axis.set_title(f'Filters on the CPU, {name_of(own[0]["size"])}, {title}')
        axes[-1][0].set_xlabel('µs a frame: the pipeline with the filter less the same without')
        self.save(figure, 'filters.svg')

    # ---- what overlaps ----

    def lane(self, axis, r, lane):
        for _, begin, until, color in STAGES:
            if r[until] > r[begin]:
                axis.barh(lane, r[until] - r[begin], left=r[begin], height=0.7, color=color, edgecolor='white',
                          linewidth=0.3)
        axis.text((r['up'] + r['uploaded_us']) / 2, lane, f'{r["frame"]:.0f}', fontsize=7, color='white', va='center',
                  ha='center', clip_on=True)

    def timeline(self):
        """Stages of consecutive frames, one lane a stream, ring-size 1 above 4 on one scale."""
        rows = self.suite('timeline')
        for fmt in once(r['format'] for r in rows):
            own = [r for r in rows if r['format'] == fmt]
            rings = sorted({r['ring'] for r in own})
            lanes = [len({r['stream'] for r in own if r['ring'] == ring}) for ring in rings]
            figure, axes = self.pyplot.subplots(len(rings), 1, squeeze=False, figsize=(11, 0.42 * sum(lanes) + 2.3),
                                                gridspec_kw={'height_ratios': [n + 0.6 for n in lanes]})
            end = max(r['downloaded_us'] for r in own if r['ring'] == rings[-1])
            for axis, ring in zip((a[0] for a in axes), rings):
                frames = [r for r in own if r['ring'] == ring]
                streams = sorted({r['stream'] for r in frames})
                for r in with_waits(frames):
                    if r['start_us'] < end:
                        self.lane(axis, r, streams.index(r['stream']))
                said = 'one stage after the other' if ring == 1 else 'stages of several frames at once'
                axis.set_title(f'ring-size={ring:.0f}: {said}, a frame every {frame_us(frames):.0f} µs', fontsize=10)
                axis.set(xlim=(0, end), ylim=(len(streams) - 0.5, -0.5), yticks=range(len(streams)),
                         yticklabels=[f'stream {s:.0f}' for s in streams])
            axes[-1][0].set_xlabel('µs; the number is the frame\'s')
            both = self.bus_us(fmt, own[0]['size'])
            figure.suptitle(f'{fmt} {name_of(own[0]["size"])} through the GPU, drawn from its own events' +
                            (f' (the bus alone, both ways at once: {both:.0f} µs)' if both else ''), fontsize=11)
            for name, color in once((stage[0], stage[3]) for stage in STAGES):
                axes[0][0].barh(0, 0, color=color, label=name)
            self.below(figure, axes[0][0], 4)
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
    p.lines('ring', 'ring.svg', 'Frames in flight against rate, 1080p', 'ring-size', 'at', True)
    p.lines('streams', 'streams.svg', 'CUDA streams against rate, 1080p', 'streams', 'at', True)
    p.strips()
    p.lines('elements', 'elements.svg', 'Elements at once against their total rate, 1080p', 'elements', 'elements',
            True)
    p.lines('threads', 'threads.svg', 'Threads of the CPU backend against rate, 1080p', 'n-threads', 'at')
    p.histograms()
    p.filters()
    p.timeline()
    return p.made
