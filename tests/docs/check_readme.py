#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds README.md and docs/ to what is there: the property table to the element's properties, the pipelines to what
GStreamer can build, the C program to the compiler (and runs it), links to files.

usage: check_readme.py SOURCE_ROOT GSTTOOL CC...     with GST_PLUGIN_PATH set to the built plugin's folder
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
gsttool, compiler = sys.argv[2], sys.argv[3:]
wrong = []


def blocks(text, language):
    return re.findall(rf'^```{language}\n(.*?)^```', text, re.DOTALL | re.MULTILINE)


def check_properties(readme):
    result = subprocess.run([gsttool, 'properties'], capture_output=True, text=True)
    if result.returncode:
        wrong.append(result.stderr)
        return
    actual = {}
    for line in result.stdout.splitlines():
        name, default, values, when = line.split('\t')
        actual[name] = (default, values.split(), when)
    written = {}
    for row in re.findall(r'^\| `([a-z-]+)` \| (.*?) \| (.*?) \|', readme, re.MULTILINE):
        written[row[0]] = (re.findall(r'`([a-z0-9]+)`', row[1]), row[1].split()[0].strip('`,;'), row[2],
                           row[1].partition(';')[2].strip())
    for name in sorted(set(actual) - set(written) - {'name', 'parent'}):
        wrong.append(f'README.md does not list the property {name}')
    for name in sorted(set(written) - set(actual)):
        wrong.append(f'README.md lists a property {name}, which the element does not have')
    for name in sorted(set(written) & set(actual) - {'stats', 'qos'}):
        values, first, when, text = written[name]
        default, nicks, actual_when = actual[name]
        if values and (values != nicks or values[0] != default.strip('"')):
            wrong.append(f'README.md: {name} is {values}; the element has {nicks}, default {default}')
        if not values and not same_default(first, default):
            wrong.append(f'README.md: the default of {name} is {first}; the element has {default}')
        if not values and nicks and not same_range(text, nicks):
            wrong.append(f'README.md: {name} has the values {text}; the element has {nicks}')
        if when != actual_when:
            wrong.append(f'README.md: {name} may change: {when}; the element says {actual_when}')


def same_default(written, actual):
    written = written.replace('−', '-')
    try:
        return float(int(written, 0) if written.startswith('0x') else written) == float(actual)
    except ValueError:
        return written == actual


def same_range(written, least_and_largest):
    """written: "0 – 16", "−1 and up", or "ARGB" for every number of 32 bits."""
    least, largest = map(float, least_and_largest)
    if written == 'ARGB':
        return (least, largest) == (0, 2**32 - 1)
    up = re.fullmatch(r'(\S+) and up', written.replace('−', '-'))
    if up:
        return (float(up.group(1)), 2**31 - 1) == (least, largest)
    both = re.fullmatch(r'(\S+) – (\S+)', written.replace('−', '-'))
    return bool(both) and (float(both.group(1)), float(both.group(2))) == (least, largest)


def check_pipelines(name, text):
    for block in blocks(text, 'sh'):
        for line in block.replace('\\\n', ' ').splitlines():
            match = re.search(r'gst-launch-1\.0 (.*)', line)
            if not match:
                continue
            words = match.group(1).split('|')[0].split('#')[0].split()
            while words and words[0].startswith('-'):
                words.pop(0)
            result = subprocess.run([gsttool, 'parse', ' '.join(words)], capture_output=True, text=True)
            if result.returncode == 77:
                print(f'{name}: not tried, an element is not installed: {result.stderr.strip()}')
            elif result.returncode:
                wrong.append(f'{name}: {result.stderr.strip()}')


def check_programs(name, text):
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'gstreamer-1.0'], check=True, capture_output=True,
                           text=True).stdout.split()
    for code in blocks(text, 'c'):
        if 'main (' not in code:
            continue
        with tempfile.TemporaryDirectory() as work:
            source = pathlib.Path(work) / 'example.c'
            source.write_text(code, encoding='utf-8')
            for command in ([*compiler, '-Wall', '-Wextra', '-Werror', str(source), '-o', f'{work}/example', *flags],
                            [f'{work}/example']):
                result = subprocess.run(command, capture_output=True, text=True, timeout=120)
                if result.returncode:
                    wrong.append(f'{name}: the C program: {result.stderr}')
                    break
            else:
                if 'frames-out' not in result.stdout:
                    wrong.append(f'{name}: the C program printed no stats: {result.stdout}{result.stderr}')


def check_links(path, text):
    for target in re.findall(r'\]\(([^)#]+)\)', text):
        if not re.match(r'[a-z]+:', target) and not (path.parent / target).exists():
            wrong.append(f'{path.relative_to(root)}: links to {target}, which is not there')


def main():
    readme = (root / 'README.md').read_text(encoding='utf-8')
    check_properties(readme)
    for path in [root / 'README.md', *sorted((root / 'docs').rglob('*.md'))]:
        text = path.read_text(encoding='utf-8')
        check_links(path, text)
        check_pipelines(path.name, text)
        check_programs(path.name, text)
    print('\n'.join(wrong) or 'README.md and docs/ say what is there')
    sys.exit(bool(wrong))


os.environ['GST_REGISTRY_FORK'] = 'no'
main()
