#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compiles every header of the project alone, twice over (so the guards hold), as C and as C++.

usage: check_headers.py SOURCE_ROOT CUDA_INCLUDE_OR_EMPTY CC... -- CXX...

Flags for GStreamer come from pkg-config. Without a C++ compiler (nothing after `--`) only C is tried. Of the CUDA
backend only the entry header is tried where CUDA_INCLUDE is empty; `.cuh` headers are nvcc's and are not looked at;
headers with C11 atomics are shared by C files alone; `_body.h` files are templates that their includers configure.
"""

import pathlib
import subprocess
import sys
import tempfile

WARNINGS = ['-Wall', '-Wextra', '-Wno-unused-parameter', '-Wno-unused-function', '-Werror']


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    cuda_include = sys.argv[2]
    split = sys.argv.index('--')
    compilers = [('C', 'c', ['-std=gnu11', '-Wstrict-prototypes'], sys.argv[3:split])]
    if sys.argv[split + 1:]:
        compilers.append(('C++', 'cpp', ['-std=gnu++14'], sys.argv[split + 1:]))

    gst_flags = subprocess.run(['pkg-config', '--cflags', 'gstreamer-video-1.0', 'gstreamer-base-1.0'],
                               check=True, capture_output=True, text=True).stdout.split()
    folders = ['gst/core', 'gst/cpu', 'gst', 'cuda']
    flags = [f'-I{root / folder}' for folder in folders] + [f.replace('-I', '-isystem', 1) if f.startswith('-I') else f
                                                            for f in gst_flags]
    if cuda_include:
        flags += ['-isystem', cuda_include]

    headers = [h for folder in folders for h in sorted((root / folder).glob('*.h')) if not h.name.endswith('_body.h')]
    tried = failed = 0
    with tempfile.TemporaryDirectory() as work:
        for header in headers:
            if not cuda_include and header.parent.name == 'cuda' and header.name != 'cudadevice.h':
                print(f'{header.name}: left out, there is no CUDA toolkit')
                continue
            for language, suffix, extra, compiler in compilers:
                if language == 'C++' and '<stdatomic.h>' in header.read_text(encoding='utf-8'):
                    continue
                source = pathlib.Path(work) / f'alone.{suffix}'
                source.write_text(f'#include "{header}"\n#include "{header}"\nextern int alone;\nint alone = 0;\n')
                result = subprocess.run([*compiler, *extra, *WARNINGS, *flags, '-fsyntax-only', str(source)],
                                        capture_output=True, text=True)
                tried += 1
                if result.returncode:
                    failed += 1
                    print(f'{header.relative_to(root)} does not compile alone as {language}:\n{result.stderr}')
    print(f'{tried} compilations of {len(headers)} headers, {failed} failed')
    sys.exit(bool(failed) or not tried)


if __name__ == '__main__':
    main()
