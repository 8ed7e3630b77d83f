#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The camera's script, without a camera, and the timetable of properties.

usage: test_shell.py CAMERA_SH FADE
"""

import os
import sys

from support import check, finish, need, run, temporary_folder

WIDTH, HEIGHT = 640, 480


def brightness(path):
    """The sum of each GRAY8 frame of the file."""
    with open(path, 'rb') as file:
        data = file.read()
    size = WIDTH * HEIGHT
    return [sum(data[i:i + size]) for i in range(0, len(data), size)]


def check_camera(script, folder):
    status, text = run('sh', script, '--help')
    check(status == 0 and '--device' in text, text)
    check(run('sh', script, '--nonsense')[0] == 2, 'an unknown option')
    check(run('sh', script, '--device=/dev/nothing', '--sink=fakesink')[0] != 0, 'a camera that is not there')
    if os.path.exists('/dev/video0'):
        print('there is a camera: its picture is not looked at')
        return
    sums = {}
    for mode in ('edges', 'overlay'):
        out = os.path.join(folder, mode)
        status, text = run('sh', script, '--frames=15', f'--sink=video/x-raw,format=GRAY8 ! filesink location={out}',
                           'mode=' + mode)
        check(status == 0, text)
        sums[mode] = brightness(out)
        # The leaky queue may drop some on a busy machine, but not all.
        check(3 <= len(sums[mode]) <= 15, f'mode={mode}: {len(sums[mode])} frames of 15')
    check(0 < max(sums['edges']), 'no edges')
    status, text = run('sh', script, '--frames=5', '--sink=fakesink', 'mode=moon')
    check(status != 0, f'a mode that does not exist: {text}')


def check_fade(fade, folder):
    out = os.path.join(folder, 'fade')
    status, text = run(fade, '--seconds=2', f'--sink=video/x-raw,format=GRAY8 ! filesink location={out}')
    check(status == 0, text)
    sums = brightness(out)
    if not check(len(sums) == 61, f'{len(sums)} frames'):
        return
    # Thresholds 1, 0.05, 1; what lies between them rises and falls with it.
    check(sums[0] < sums[15] < sums[30] > sums[45] > sums[60], f'brightness {sums[::15]}')
    check('threshold 0.05  gain 1.00' in text and 'threshold 0.68' in text, text)
    check(run(fade, '--seconds=0')[0] == 2, 'no time at all')


def main():
    need('gst-launch-1.0')
    with temporary_folder() as folder:
        check_camera(sys.argv[1], folder)
        check_fade(sys.argv[2], folder)
    finish()


main()
