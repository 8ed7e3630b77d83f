#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Looks at the built plugin as the dynamic linker does: what it exports, what it needs, how large it is.

usage: check_exports.py PLUGIN
"""

import re
import subprocess
import sys

EXPORTS = {'gst_plugin_cudasobel_get_desc', 'gst_plugin_cudasobel_register'}
# The driver is looked up at run time, the CUDA runtime is linked statically, and no C++ runtime comes along:
# a machine without CUDA, or without the toolkit, must still load the plugin.
UNWANTED = re.compile(r'^lib(cuda|cudart|nvrtc|nvidia|nvToolsExt|npp|stdc\+\+|gstcuda)')
MAX_BYTES = 20_000_000


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    plugin = sys.argv[1]
    wrong = []

    exported = {line.split()[-1].split('@')[0] for line in lines_of('nm', '-D', '--defined-only', plugin)}
    for name in sorted(exported - EXPORTS):
        wrong.append(f'exports {name}')
    for name in sorted(EXPORTS - exported):
        wrong.append(f'does not export {name}')

    dynamic = lines_of('readelf', '-dW', plugin)
    needed = re.findall(r'\(NEEDED\).*\[(.*)\]', '\n'.join(dynamic))
    wrong += [f'needs {name} at load time' for name in needed if UNWANTED.match(name)]
    if any('(TEXTREL)' in line for line in dynamic):
        wrong.append('has text relocations: some object is not position-independent')
    # Such a module cannot be loaded once the static TLS block is full.
    if any('STATIC_TLS' in line for line in dynamic):
        wrong.append('uses initial-exec thread-local storage')

    # What is loaded: the file without its debug information.
    size = sum(int(line.split()[4], 16) for line in lines_of('readelf', '-lW', plugin) if line.split()[:1] == ['LOAD'])
    if size > MAX_BYTES:
        wrong.append(f'is {size} bytes large without debug information, the limit is {MAX_BYTES}')

    print('\n'.join(f'{plugin} {what}' for what in wrong)
          or f'exports its entry points alone, needs {", ".join(needed)}; {size} bytes')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
