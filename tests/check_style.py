#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds the house rules that a machine can see (docs/contributing.md): licence line, layout, size, and calls that
the plugin never makes.

usage: check_style.py SOURCE_ROOT
       check_style.py --self-test
"""

import pathlib
import re
import sys

SOURCES = {'.c', '.h', '.cu', '.cuh', '.cpp', '.py', '.sh', '.supp', '.prs'}
BUILD_FILES = {'meson.build', 'meson_options.txt'}
SPDX = 'SPDX-License-Identifier: LGPL-2.1-or-later'
MAX_COLUMNS, MAX_LINES = 120, 600

# A plugin is a guest in somebody's process: it neither ends that nor writes to its terminal, and it leaves CUDA
# state that others share alone.
FORBIDDEN = re.compile(
    r'\b(abort|exit|_exit|quick_exit|printf|vprintf|puts|putchar|perror|fprintf|fputs|system|assert|g_assert\w*|'
    r'g_error|g_print|g_printerr|g_abort|cudaDeviceReset|cuDevicePrimaryCtx(?:Reset|SetFlags)\w*)\s*\(')
MARKS = re.compile(r'\b(TODO|FIXME|XXX|HACK)\b')
STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.DOTALL)


def code_only(text):
    """The text with comments and string contents blanked, line numbers kept."""
    return STRING_OR_COMMENT.sub(lambda m: '\n' * m.group(0).count('\n'), text)


def check_file(path, text):
    complaints = []
    lines = text.split('\n')

    def complain(number, what):
        complaints.append(f'{path}:{number}: {what}')

    if SPDX not in '\n'.join(lines[:2]):
        complain(1, f'the first line lacks "{SPDX}"')
    if len(lines) - 1 > MAX_LINES:
        complain(len(lines) - 1, f'more than {MAX_LINES} lines')
    if text and not text.endswith('\n'):
        complain(len(lines), 'no newline at the end')
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            complain(number, f'more than {MAX_COLUMNS} columns')
        if '\t' in line:
            complain(number, 'a tab')
        if line != line.rstrip():
            complain(number, 'blanks at the end')
        if MARKS.search(line) and not path.endswith('check_style.py'):
            complain(number, 'a mark of unfinished work')
    if path.startswith(('gst/', 'cuda/')):
        for number, line in enumerate(code_only(text).split('\n'), 1):
            for match in FORBIDDEN.finditer(line):
                complain(number, f'calls {match.group(1)}()')
    return complaints


def self_test():
    head = f'/* {SPDX} */\n'
    cases = [
        ('gst/a.c', head + 'int a;\n', 0),
        ('gst/a.c', 'int a;\n', 1),
        ('gst/a.c', head + 'int a; \n', 1),
        ('gst/a.c', head + '\tint a;\n', 1),
        ('gst/a.c', head + 'int a;', 1),
        ('gst/a.c', head + '/* abort () */ log ("exit (1)"); snprintf (a);\n', 0),
        ('gst/core/a.c', head + '  abort ();\n', 1),
        ('gst/a.c', head + '  g_assert_not_reached ();\n', 1),
        ('cuda/a.cu', head + '  cudaDeviceReset ();\n', 1),
        ('tests/a.c', head + '  printf ("x");\n', 0),
        ('tests/a.c', head + 'int a; /* ' + 'TO' + 'DO */\n', 1),
        ('tests/a.c', head + 'a' * (MAX_COLUMNS + 1) + '\n', 1),
        ('tests/a.c', head + '\n' * MAX_LINES, 1),
        ('tests/a.sh', f'#!/bin/sh\n# {SPDX}\n', 0),
    ]
    for path, text, expected in cases:
        found = check_file(path, text)
        if len(found) != expected:
            sys.exit(f'self-test: {path} with {text!r}: {expected} complaints expected, got {found}')


def main():
    if sys.argv[1:] == ['--self-test']:
        self_test()
        print('the checker finds what it should')
        return
    root = pathlib.Path(sys.argv[1])
    paths = [root / name for name in sorted(BUILD_FILES)] + [root / '.ci' / 'run']
    for top in ('gst', 'cuda', 'tests', 'docs'):
        paths += [path for path in sorted((root / top).rglob('*'))
                  if path.is_file() and (path.suffix in SOURCES or path.name in BUILD_FILES)]
    complaints = []
    for path in paths:
        complaints += check_file(path.relative_to(root).as_posix(), path.read_text(encoding='utf-8'))
    print('\n'.join(complaints) or f'{len(paths)} files keep the house rules')
    sys.exit(bool(complaints))


if __name__ == '__main__':
    main()
