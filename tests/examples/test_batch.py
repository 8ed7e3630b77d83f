#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The batch example: pictures, clips with sound, broken files and wrong requests.

usage: test_batch.py BATCH
"""

import os
import re
import subprocess
import sys
import time

from support import (check, finish, has_element, need, open_terminal, read_png, run, temporary_folder, wait_for,
                     write_png)

# EXIF with nothing but the orientation: turn the picture to the right by a quarter.
TIFF = b'MM\0*\0\0\0\x08\0\x01' + b'\x01\x12\0\x03\0\0\0\x01\0\x06\0\0' + bytes(4)
HELD_UPRIGHT = b'\xff\xe1' + (len(TIFF) + 8).to_bytes(2, 'big') + b'Exif\0\0' + TIFF


def make_inputs(folder):
    write_png(os.path.join(folder, 'step.png'), 64, 48, lambda x, y: ((200,) if x >= 32 else (40,)) * 3)
    write_png(os.path.join(folder, 'flat.PNG'), 33, 17, lambda x, y: (10, 200, 30))
    for line in (
            'videotestsrc num-buffers=1 ! video/x-raw,width=160,height=120 ! jpegenc ! filesink location=bars.jpg',
            'matroskamux name=m ! filesink location=clip.mkv '
            'videotestsrc num-buffers=30 pattern=ball ! video/x-raw,width=160,height=120,framerate=30/1 ! jpegenc ! m. '
            'audiotestsrc num-buffers=40 ! audio/x-raw,rate=44100 ! vorbisenc ! m.',
            'avimux name=m ! filesink location=silent.avi '
            'videotestsrc num-buffers=15 ! video/x-raw,width=64,height=64,framerate=15/1 ! jpegenc ! m.'):
        subprocess.run(['gst-launch-1.0', '-q', *line.split()], cwd=folder, check=True, timeout=60)
    with open(os.path.join(folder, 'bars.jpg'), 'rb') as file:
        jpeg = file.read()
    with open(os.path.join(folder, 'turned.jpg'), 'wb') as file:
        file.write(jpeg[:2] + HELD_UPRIGHT + jpeg[2:])
    with open(os.path.join(folder, 'broken.jpg'), 'wb') as file:
        file.write(b'not a picture')
    with open(os.path.join(folder, 'clip.mkv'), 'rb') as whole, open(os.path.join(folder, 'cut.mkv'), 'wb') as cut:
        cut.write(whole.read(300))
    with open(os.path.join(folder, 'notes.txt'), 'w', encoding='utf-8') as file:
        file.write('neither picture nor clip\n')


def jpeg_size(path):
    """(width, height) of a baseline JPEG."""
    with open(path, 'rb') as file:
        data = file.read()
    frame = data.index(b'\xff\xc0')
    height, width = int.from_bytes(data[frame + 5:frame + 7], 'big'), int.from_bytes(data[frame + 7:frame + 9], 'big')
    return width, height


def streams(path):
    """What the clip holds, in the words of gst-discoverer's caps."""
    line = f'filesrc location={path} ! matroskademux name=d  d. ! queue ! fakesink  d. ! queue ! fakesink'
    return run('gst-launch-1.0', '-v', *line.split(), seconds=30)[1]


def check_folder(batch, folder, out):
    status, text = run(batch, folder, '--out', out, '--set', 'threshold=0.1', '--give-up=15')
    check(status == 1, f'exit status {status} although files are broken')
    check(sorted(os.listdir(out)) == ['bars.jpg', 'clip.mkv', 'flat.PNG', 'silent.avi.mkv', 'step.png', 'turned.jpg'],
          f'in the folder: {sorted(os.listdir(out))}\n{text}')
    for name in os.listdir(out):
        check(f'-> {os.path.join(out, name)}' in text, f'{name} is not told')
    check('6 of 8 converted' in text, text)
    for name in ('broken.jpg', 'cut.mkv'):
        check(re.search(rf'^failed: .*{name}: \S', text, re.MULTILINE), f'{name} is not listed: {text}')
    check('notes.txt' not in text, text)
    with open(os.path.join(out, 'step.png'), 'rb') as file:
        width, height, rows = read_png(file.read())
    check((width, height) == (64, 48), f'{width}x{height}')
    check(rows[20][30] == (0, 0, 0) and rows[20][31] == (255, 255, 255) and rows[20][34] == (0, 0, 0),
          f'edges: {rows[20][29:36]}')
    check(jpeg_size(os.path.join(out, 'bars.jpg')) == (160, 120), 'the size of a picture')
    if has_element('jpegparse'):
        size = jpeg_size(os.path.join(out, 'turned.jpg'))
        check(size == (120, 160), f'a picture that was held upright is {size}')
    found = streams(os.path.join(out, 'clip.mkv'))
    check('audio/x-vorbis' in found and 'video/' in found, f'the clip lost a stream: {found}')


def check_requests(batch, folder, out):
    for arguments, expected in (((folder, '--out', folder), 1), ((), 2), ((folder, '--set', 'moon=1'), 2),
                                ((folder, '--set', 'gain'), 2), ((folder, '--preset', 'no such'), 2),
                                (('/nothing/here', '--out', out), 1)):
        status, text = run(batch, *arguments)
        check(status == expected, f'{arguments}: {status}, not {expected}: {text}')
    status, text = run(batch, os.path.join(folder, 'step.png'), '--out', out, '--preset', 'pencil drawing')
    check(status == 0 and '1 of 1 converted' in text, text)
    with open(os.path.join(out, 'step.png'), 'rb') as file:
        check(read_png(file.read())[2][20][10] == (255, 255, 255), 'the preset was not used')


def check_terminal(batch, folder, out):
    """On a terminal a long clip shows per cents; Ctrl-C leaves no half file."""
    line = ('matroskamux name=m ! filesink location=long.mkv videotestsrc num-buffers=600 pattern=snow '
            '! video/x-raw,width=640,height=480,framerate=30/1 ! jpegenc ! m.')
    subprocess.run(['gst-launch-1.0', '-q', *line.split()], cwd=folder, check=True, timeout=120)
    ends = open_terminal()
    if not ends:
        return
    controller, terminal = ends
    with subprocess.Popen([batch, os.path.join(folder, 'long.mkv'), '--out', out], stdin=subprocess.DEVNULL,
                          stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        shown = b''
        end = time.monotonic() + 60
        while not re.search(rb'[1-9]\d* %', shown) and time.monotonic() < end:
            shown += os.read(controller, 4096)
        check(b'[1/1] long.mkv' in shown and re.search(rb'[1-9]\d* %', shown), f'progress: {shown[-200:]}')
        process.send_signal(2)
        check(wait_for(lambda: process.poll() is not None), 'Ctrl-C does not end it')
        check(process.poll() == 130, f'exit status {process.poll()}')
        process.kill()
    check(not [name for name in os.listdir(out) if name.startswith('long')], f'half a file: {os.listdir(out)}')
    os.close(controller)


def main():
    need('gst-launch-1.0')
    batch = sys.argv[1]
    if not has_element('vorbisenc') or not has_element('matroskamux'):
        print('skipped: the base and good plugins are not installed')
        sys.exit(77)
    status, text = run(batch, '--help')
    check(status == 0 and '--preset' in text, text)
    with temporary_folder() as base:
        folder, out = os.path.join(base, 'in'), os.path.join(base, 'out', 'edges')
        os.mkdir(folder)
        make_inputs(folder)
        check_folder(batch, folder, out)
        check_requests(batch, folder, os.path.join(base, 'two'))
        check_terminal(batch, folder, os.path.join(base, 'two'))
    finish()


main()
