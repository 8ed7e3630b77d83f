#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds the include rules between the layers (docs/architecture.md).

usage: check_layers.py SOURCE_ROOT
       check_layers.py --self-test
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# Third-party headers, by what they bring in. Anything else in angle brackets counts as the C library's.
FAMILIES = [
    ('gstreamer', re.compile(r'^(gst/|glib|gobject/|gio/|gmodule)')),
    ('cuda', re.compile(r'^(cuda|driver_types|vector_types|device_launch|nvtx|npp|cub/|thrust/|cooperative_groups)')),
]

# Headers by which another layer may be entered; everything else in its folder is its own business.
CPU_ENTRY = {'cpudevice.h', 'cpupool.h'}
CUDA_ENTRY = {'cudadevice.h'}

# The oracle knows what a user may ask for and shares nothing else with what it judges; how samples lie in memory it
# learns from GStreamer.
ORACLE_CORE = {'sobelparams.h'}


class Layer:
    """What the files of one folder may include: project headers by (folder, names or None for all), families."""

    def __init__(self, name, matches, project, families=()):
        self.name = name
        self.matches = re.compile(matches)
        self.project = project
        self.families = set(families)


# First match wins. A folder's own headers are always allowed.
LAYERS = [
    Layer('core', r'^gst/core/', {}),
    Layer('CPU backend', r'^gst/cpu/', {'gst/core': None}),
    Layer('element', r'^gst/', {'gst/core': None, 'gst/cpu': CPU_ENTRY, 'cuda': CUDA_ENTRY}, ['gstreamer']),
    Layer('CUDA backend', r'^cuda/', {'gst/core': None}, ['cuda']),
    Layer('oracle', r'^tests/check/oracle[^/]*$', {'gst/core': ORACLE_CORE}, ['gstreamer']),
]


def family_of(header):
    for name, pattern in FAMILIES:
        if pattern.match(header):
            return name
    return None


def without_comments(text):
    return re.sub(r'/\*.*?\*/', lambda m: '\n' * m.group(0).count('\n'), text, flags=re.DOTALL)


def check(files):
    """files: {path: text}. Returns complaints, one a line."""
    folders = {}
    for path in files:
        folders.setdefault(pathlib.PurePosixPath(path).name, []).append(str(pathlib.PurePosixPath(path).parent))
    complaints = []
    for path, text in sorted(files.items()):
        layer = next((l for l in LAYERS if l.matches.match(path)), None)
        if layer is None:
            continue
        own = str(pathlib.PurePosixPath(path).parent)
        for match in INCLUDE.finditer(without_comments(text)):
            header = match.group(2)
            base = pathlib.PurePosixPath(header).name
            ours = match.group(1) == '"' and (base in folders or base in CPU_ENTRY | CUDA_ENTRY)
            family = None if ours else family_of(header)
            if family and family not in layer.families:
                complaints.append(f'{path}: the {layer.name} layer includes {header}, which belongs to {family}')
            if not ours:
                continue
            homes = folders.get(base, ['cuda' if base in CUDA_ENTRY else 'gst/cpu'])
            allowed = [h for h in homes if h in layer.project
                       and (layer.project[h] is None or base in layer.project[h])]
            if own not in homes and not allowed:
                complaints.append(f'{path}: the {layer.name} layer includes {header} of {homes[0]}')
    return complaints


def read_tree(root):
    files = {}
    for top in ('gst', 'cuda', 'tests'):
        for path in sorted((root / top).rglob('*')):
            if path.suffix in ('.c', '.h', '.cu', '.cuh', '.cpp') and path.is_file():
                files[path.relative_to(root).as_posix()] = path.read_text(encoding='utf-8', errors='replace')
    return files


def self_test():
    headers = {'gst/core/sobelarith.h': '', 'gst/core/sobelimage.h': '',
               'gst/core/sobelparams.h': '', 'gst/cpu/cpudevice.h': '', 'gst/cpu/rows.h': '',
               'cuda/cudadevice.h': '', 'cuda/kernels.h': '', 'gst/gstcudasobel.h': ''}
    cases = [
        ('gst/core/a.c', '#include "sobelimage.h"\n#include <string.h>', 0),
        ('gst/core/a.c', '#include <glib.h>', 1),
        ('gst/core/a.c', '# include "cpudevice.h"', 1),
        ('gst/core/a.c', '/* #include <glib.h>\n*/', 0),
        ('gst/cpu/a.c', '#include "rows.h"\n#include "sobelarith.h"', 0),
        ('gst/cpu/a.c', '#include "kernels.h"', 1),
        ('gst/cpu/a.c', '#include <gst/gst.h>', 1),
        ('gst/a.c', '#include "core/sobelimage.h"\n#include "cudadevice.h"\n#include <gst/video/video.h>', 0),
        ('gst/a.c', '#include "cpudevice.h"', 0),
        ('gst/a.c', '#include "rows.h"', 1),
        ('gst/a.c', '#include <cuda_runtime.h>', 1),
        ('cuda/a.cu', '#include "kernels.h"\n#include <cuda_runtime.h>\n#include "sobelarith.h"', 0),
        ('cuda/a.c', '#include "gstcudasobel.h"', 1),
        ('cuda/a.c', '#include <gst/gst.h>', 1),
        ('tests/check/oracle.c', '#include <gst/video/video.h>\n#include "sobelparams.h"', 0),
        ('tests/check/oracle.c', '#include "sobelarith.h"', 1),
    ]
    for path, text, expected in cases:
        found = check({**headers, path: text})
        if len(found) != expected:
            sys.exit(f'self-test: {path} with {text!r}: {expected} complaints expected, got {found}')


def main():
    if sys.argv[1:] == ['--self-test']:
        self_test()
        print('the checker finds what it should')
        return
    files = read_tree(pathlib.Path(sys.argv[1]))
    complaints = check(files)
    print('\n'.join(complaints) or f'{len(files)} files keep to their layers')
    sys.exit(bool(complaints) or not files)


if __name__ == '__main__':
    main()
