#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The RTSP example: viewers on this machine get pictures with edges on them.

usage: test_rtsp.py RTSP
"""

import os
import signal
import sys

from support import Program, check, finish, has_element, need, read_png, run, skip, temporary_folder


def watch(address, folder, name, frames):
    """Starts a viewer that keeps its pictures and leaves after so many."""
    line = (f'rtspsrc location={address} latency=0 protocols=tcp ! decodebin ! video/x-raw ! videoconvert '
            f'! video/x-raw,format=RGB ! identity eos-after={frames + 1} ! pngenc compression-level=1 '
            f'! multifilesink location={os.path.join(folder, name)}-%03d.png')
    return Program('gst-launch-1.0', '-q', *line.split())


def green_pixels(path):
    with open(path, 'rb') as file:
        _, _, rows = read_png(file.read())
    return sum(g > r + 80 and g > b + 80 for row in rows for r, g, b in row)


def check_codec(rtsp, codec, folder):
    program = Program(rtsp, '--test', '--port=0', f'--codec={codec}')
    address = program.line_with('rtsp://')
    viewers = {}
    for frames in (20, 60):  # the second one stays when the first one leaves
        viewers[frames] = watch(address, folder, f'{codec}-{frames}', frames)
    for frames, viewer in viewers.items():
        # rtspsrc may fail to say goodbye, after all its pictures.
        check(viewer.end(60) is not None, f'{codec}, viewer of {frames}: {viewer.output()}')
        pictures = sorted(name for name in os.listdir(folder) if name.startswith(f'{codec}-{frames}-'))
        if check(len(pictures) == frames, f'{codec}: {len(pictures)} pictures of {frames}: {viewer.output()}'):
            # The ball's outline, in green; the ball itself is white.
            n = green_pixels(os.path.join(folder, pictures[-1]))
            check(n > 50, f'{codec}: {n} green pixels')
            print(f'{codec}, viewer of {frames}: {n} green pixels')
    check(program.stop(signal.SIGTERM) == 0, 'the end: ' + program.output())
    check('viewer from 127.0.0.1' in program.output(), program.output())


def main():
    rtsp = sys.argv[1]
    need('gst-launch-1.0')
    if not has_element('rtspsrc') or not has_element('jpegenc'):
        skip('the good plugins are not installed')
    status, text = run(rtsp, '--help')
    check(status == 0 and '--codec' in text, text)
    status, text = run(rtsp, '--test', '--settings=mode=moon')
    check(status == 1 and 'moon' in text, f'a mode that does not exist: {status} {text}')
    check(run(rtsp, '--test', '--codec=none')[0] == 1, 'a codec that does not exist')
    check(run(rtsp, '--port=99999')[0] == 2, 'a port that does not exist')
    check(run(rtsp, '--test', '--host=192.0.2.1')[0] == 1, 'an address that is not of this machine')
    with temporary_folder() as folder:
        check_codec(rtsp, 'jpeg', folder)
        if has_element('x264enc') and (has_element('avdec_h264') or has_element('openh264dec')):
            check_codec(rtsp, 'h264', folder)
        # The reason for a failure is told, not only to the viewer.
        if not os.path.exists('/dev/video9'):
            program = Program(rtsp, '--camera=/dev/video9', '--port=0')
            viewer = watch(program.line_with('rtsp://'), folder, 'none', 1)
            check('/dev/video9' in program.line_with('error from', 20), 'a camera that is not there')
            viewer.kill()
            check(program.stop(signal.SIGINT) == 0, 'the end: ' + program.output())
    finish()


main()
