#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The built plugin between stock elements, by gst-launch-1.0.

usage: pipelines.py PLUGIN_FOLDER [NAME ...]

Each trial is a pipeline that people run, or ran into a fault with. A trial whose stock elements are not installed
is skipped; exit status 77 if all are.
"""

import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

TIMEOUT = 120
TRIALS = []


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def trial(function):
    TRIALS.append(function)
    return function


def check(condition, text):
    if not condition:
        raise Failure(text)


def need(*elements):
    for element in elements:
        # Not --exists: that asks for a plugin as new as GStreamer.
        if subprocess.run(['gst-inspect-1.0', element], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode != 0:
            raise Skip(f'no {element}')


def launch(line, environment=(), status=0, option='-q'):
    """Runs a pipeline; criticals end it. Returns what it said on stdout and stderr."""
    env = {**os.environ, 'G_DEBUG': 'fatal-criticals', **dict(environment)}
    run = subprocess.run(['gst-launch-1.0', option, *line.split()], env=env, stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=TIMEOUT)
    if status == 0:
        check(run.returncode == 0, f'{line}: status {run.returncode}: {run.stderr.strip()}')
    else:
        check(run.returncode > 0, f'{line}: status {run.returncode}, should be an error: {run.stderr.strip()}')
    return run.stdout + run.stderr


def read(name):
    with open(name, 'rb') as file:
        return file.read()


def output_of(line):
    """What the pipeline, which ends in a pad, gives to a file."""
    launch(f'{line} ! filesink location=out.bin')
    return read('out.bin')


# ---- ends and beginnings ---------------------------------------------------------------------------


@trial
def every_frame_comes_out():
    for n in (1, 2, 3, 4, 5, 17):
        data = output_of(f'videotestsrc num-buffers={n} ! video/x-raw,format=GRAY8,width=64,height=48 ! cudasobel')
        check(len(data) == n * 64 * 48, f'{n} frames: {len(data)} bytes')


@trial
def interrupted_live_pipeline():
    line = ('videotestsrc is-live=true ! video/x-raw,format=GRAY8,width=64,height=48,framerate=30/1 ! cudasobel ! '
            'filesink location=live.bin')
    process = subprocess.Popen(['gst-launch-1.0', '-q', '-e', *line.split()], stdin=subprocess.DEVNULL)
    for _ in range(200):
        time.sleep(0.05)
        if os.path.exists('live.bin') and os.path.getsize('live.bin') > 0:
            break
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    check(process.wait(TIMEOUT) == 0, 'ends with an error')
    size = os.path.getsize('live.bin')
    check(size > 0 and size % (64 * 48) == 0, f'{size} bytes are no whole frames')


@trial
def no_frame_at_all():
    start = time.monotonic()
    launch('videotestsrc num-buffers=0 ! cudasobel ! fakesink')
    check(time.monotonic() - start < 20, 'EOS takes long')


@trial
def quiet_by_default():
    said = launch('videotestsrc num-buffers=5 ! cudasobel ! fakesink')
    check(not said, f'the terminal shows: {said}')


@trial
def nothing_left_alive():
    environment = {'GST_TRACERS': 'leaks', 'GST_DEBUG': 'GST_TRACER:7', 'GST_DEBUG_NO_COLOR': '1'}
    for properties in ('backend=cpu', 'backend=auto mode=overlay', 'bypass=true'):
        said = launch('videotestsrc num-buffers=20 ! video/x-raw,format=I420,width=64,height=48 ! '
                      f'cudasobel {properties} ! videoconvert ! fakesink', environment)
        check('object-alive' in said, 'the tracer says nothing')
        alive = re.findall(r'object-alive, type-name=\(string\)(?!%s).*', said)
        check(not alive, f'{properties}: alive at the end: {alive[:3]}')


# ---- negotiation -----------------------------------------------------------------------------------


@trial
def caps_behind_the_element():
    data = output_of('videotestsrc num-buffers=2 ! cudasobel ! video/x-raw,format=GRAY8,width=123,height=77')
    check(len(data) == 2 * 124 * 77, f'{len(data)} bytes')


@trial
def formats_that_are_not_offered():
    for line in ('videotestsrc num-buffers=2 ! video/x-raw,format=v210 ! cudasobel ! fakesink',
                 'videotestsrc num-buffers=2 ! video/x-raw,format=v210 ! cudasobel bypass=true ! fakesink',
                 'videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8 ! cudasobel ! video/x-raw,format=I420 ! '
                 'fakesink'):
        said = launch(line, status=1)
        check('negotiat' in said or 'link' in said, f'{line}: {said}')


@trial
def pictures_of_changing_size():
    need('pngenc', 'pngdec', 'multifilesrc')
    sizes = ((40, 30), (73, 47), (106, 64), (139, 81))
    for i, (width, height) in enumerate(sizes):
        launch(f'videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width={width},height={height} ! pngenc ! '
               f'filesink location=img{i}.png')
    data = output_of('multifilesrc location=img%d.png start-index=0 stop-index=3 caps=image/png,framerate=1/1 ! '
                     'pngdec ! cudasobel ! video/x-raw,format=RGB')
    expected = sum((width * 3 + 3) // 4 * 4 * height for width, height in sizes)
    check(len(data) == expected, f'{len(data)} bytes, should be {expected}')


@trial
def still_pictures():
    need('pngenc', 'pngdec', 'imagefreeze')
    launch('videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=97,height=61 ! pngenc ! filesink location=x.png')
    launch('filesrc location=x.png ! pngdec ! cudasobel ! pngenc ! filesink location=y.png')
    check(read('y.png').startswith(b'\x89PNG'), 'no PNG comes out')
    data = output_of('filesrc location=x.png ! pngdec ! imagefreeze num-buffers=3 ! cudasobel ! '
                     'video/x-raw,format=GRAY8')
    frame = len(data) // 3
    check(frame == 100 * 61 and data[:frame] == data[frame:2 * frame] == data[2 * frame:], 'frames of a still differ')


@trial
def jpegs():
    need('jpegenc', 'jpegdec', 'pngenc', 'pngdec')
    for fmt in ('GRAY8', 'I420', 'Y42B', 'Y444'):
        launch('videotestsrc num-buffers=1 pattern=ball ! '
               f'video/x-raw,format={fmt},width=97,height=61,colorimetry=1:4:0:0 ! jpegenc ! filesink location=a.jpg')
        convert = '' if fmt == 'GRAY8' else 'videoconvert ! video/x-raw,format=RGB !'
        launch(f'filesrc location=a.jpg ! jpegdec ! cudasobel ! {convert} pngenc ! filesink location=a.png')
        data = output_of('filesrc location=a.png ! pngdec ! videoconvert ! video/x-raw,format=GRAY8')
        check(data[:97].count(0) > 80, f'{fmt}: black is not 0 in {list(data[:12])}')


@trial
def raw_files_without_times():
    launch('videotestsrc num-buffers=6 ! video/x-raw,format=GRAY8,width=64,height=48 ! filesink location=r.gray')
    caps = 'video/x-raw,format=GRAY8,width=64,height=48'
    for rate in ('', ',framerate=0/1', ',framerate=25/1'):
        data = output_of(f'filesrc location=r.gray blocksize=3072 ! {caps}{rate} ! cudasobel')
        check(len(data) == 6 * 3072, f'{len(data)} bytes with {rate or "no rate"}')


# ---- pictures --------------------------------------------------------------------------------------


@trial
def cropped_pictures():
    need('videocrop', 'rawvideoparse')
    source = 'videotestsrc num-buffers=2 pattern=ball ! video/x-raw,format=UYVY,width=720,height=576,framerate=25/1'
    crop = 'videocrop left=16 right=16 top=48 bottom=48'
    at_once = output_of(f'{source} ! {crop} ! cudasobel')
    launch(f'{source} ! {crop} ! filesink location=c.uyvy')
    check(os.path.getsize('c.uyvy') == 2 * 688 * 480 * 2, 'the crop itself has another size')
    from_file = output_of('filesrc location=c.uyvy ! rawvideoparse format=uyvy width=688 height=480 framerate=25/1 ! '
                          'cudasobel')
    check(at_once == from_file, 'another picture than of the cropped file')


@trial
def gray_is_gray():
    for fmt in 'I420 YV12 NV12 NV21 YUY2 UYVY Y42B Y444 AYUV I420_10LE'.split():
        data = output_of(f'videotestsrc num-buffers=1 pattern=ball ! video/x-raw,format={fmt},width=64,height=48 ! '
                         'cudasobel ! videoconvert ! video/x-raw,format=RGB')
        # Coming from 10 bits, videoconvert itself rounds the three apart.
        most = max(max(pixel) - min(pixel) for pixel in zip(data[0::3], data[1::3], data[2::3]))
        check(most <= (1 if '10' in fmt else 0), f'{fmt}: coloured edges, {most} codes apart')
        check(len(set(data)) > 2, f'{fmt}: no edges')


@trial
def black_is_black():
    for colorimetry in ('bt601', '1:4:0:0'):
        data = output_of('videotestsrc num-buffers=1 pattern=black ! '
                         f'video/x-raw,format=I420,width=64,height=48,colorimetry={colorimetry} ! cudasobel ! '
                         'videoconvert ! video/x-raw,format=RGB')
        check(set(data) == {0}, f'{colorimetry}: {sorted(set(data))}')


@trial
def alpha_stays():
    need('alpha', 'compositor')
    source = 'videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=64,height=48 ! alpha alpha=0.5'
    for mode in ('edges', 'overlay', 'mask', 'direction'):
        before = output_of(f'{source} ! video/x-raw,format=RGBA')
        after = output_of(f'{source} ! video/x-raw,format=RGBA ! cudasobel mode={mode}')
        check(before[3::4] == after[3::4] and set(after[3::4]) <= {127, 128}, f'{mode}: another alpha')
    launch(f'compositor name=c background=checker ! fakesink {source} ! cudasobel ! c.')


@trial
def interlaced_pictures():
    need('interlace')
    for height in (486, 487, 576):
        data = output_of(f'videotestsrc num-buffers=4 ! video/x-raw,format=I420,width=720,height={height},'
                         'interlace-mode=interleaved ! cudasobel ! video/x-raw,interlace-mode=interleaved')
        check(data and len(data) % 4 == 0, f'{height}: {len(data)} bytes')
        launch(f'videotestsrc num-buffers=4 ! video/x-raw,format=I420,width=720,height={height},framerate=25/1 ! '
               'interlace field-pattern=1:1 ! cudasobel ! fakesink')


@trial
def one_source_many_filters():
    source = 'videotestsrc num-buffers=20 pattern=ball ! video/x-raw,format=RGB,width=64,height=48,framerate=25/1'
    looks = ('mode=edges', 'mode=overlay threshold=0.2', 'mode=mask threshold=0.5',
             'operator=scharr norm=l1 invert=true')
    alone = [hashlib.sha256(output_of(f'{source} ! cudasobel {look}')).hexdigest() for look in looks]
    launch(f'{source} ! tee name=t ' + ' '.join(
        f't. ! queue ! cudasobel {look} ! filesink location=t{i}.bin' for i, look in enumerate(looks)))
    together = [hashlib.sha256(read(f't{i}.bin')).hexdigest() for i in range(len(looks))]
    check(alone == together, 'elements side by side disturb each other')
    check(len(set(alone)) == len(looks), 'looks that differ give the same picture')

    once = output_of(f'{source} ! cudasobel {looks[0]}')
    with open('once.rgb', 'wb') as file:
        file.write(once)
    need('rawvideoparse')
    twice = output_of('filesrc location=once.rgb ! rawvideoparse format=rgb width=64 height=48 framerate=25/1 ! '
                      f'cudasobel {looks[2]}')
    in_series = output_of(f'{source} ! cudasobel {looks[0]} ! cudasobel {looks[2]}')
    check(in_series == twice, 'two in series are not one after the other')


# ---- time ------------------------------------------------------------------------------------------


@trial
def live_and_in_time():
    need('fpsdisplaysink')
    said = launch('videotestsrc is-live=true num-buffers=60 ! '
                  'video/x-raw,format=I420,width=160,height=120,framerate=30/1 ! cudasobel ! '
                  'fpsdisplaysink name=f text-overlay=false signal-fps-measurements=false '
                  'fps-update-interval=200 video-sink=fakesink sync=true', option='-v')
    dropped = re.findall(r'dropped: (\d+)', said)
    check(dropped, 'no measurement')
    check(int(dropped[-1]) == 0, f'{dropped[-1]} frames were late')


# ---- memory ----------------------------------------------------------------------------------------


@trial
def clean_memory():
    if not os.environ.get('SOBEL_TEST_LONG'):
        raise Skip('only with SOBEL_TEST_LONG')
    if subprocess.run(['which', 'valgrind'], stdout=subprocess.DEVNULL).returncode != 0:
        raise Skip('no valgrind')
    launcher = subprocess.run(['which', 'gst-launch-1.0'], capture_output=True, text=True).stdout.strip()
    for fmt, width, height in (('I420', 32, 16), ('GRAY8', 64, 48), ('YUY2', 34, 17), ('RGBx', 33, 17),
                               ('NV12', 64, 50)):
        line = (f'videotestsrc num-buffers=3 ! video/x-raw,format={fmt},width={width},height={height} ! '
                'cudasobel backend=cpu ! filesink location=v.bin')
        run = subprocess.run(['valgrind', '-q', '--error-exitcode=9', launcher, '-q', *line.split()],
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        check(run.returncode == 0 and '== ' not in run.stderr, f'{fmt} {width}x{height}: {run.stderr[:2000]}')


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if 'vgpreload' in os.environ.get('LD_PRELOAD', ''):
        print('valgrind would check Python')
        sys.exit(77)
    os.environ['GST_PLUGIN_PATH'] = os.path.abspath(sys.argv[1])
    wanted = [name.replace('_', '-') for name in sys.argv[2:]]
    try:
        need('cudasobel', 'videotestsrc', 'videoconvert', 'filesink')
    except (Skip, FileNotFoundError) as reason:
        print(reason)
        sys.exit(77)
    failed = done = 0
    with tempfile.TemporaryDirectory(prefix='cudasobel-') as folder:
        os.chdir(folder)
        for function in TRIALS:
            name = function.__name__.replace('_', '-')
            if wanted and name not in wanted:
                continue
            start = time.monotonic()
            try:
                function()
                done += 1
                print(f'ok   {name} ({time.monotonic() - start:.1f} s)', flush=True)
            except Skip as reason:
                print(f'skip {name}: {reason}', flush=True)
            except (Failure, subprocess.TimeoutExpired) as reason:
                failed += 1
                print(f'FAIL {name}: {reason}', flush=True)
        os.chdir('/')
    sys.exit(1 if failed else 0 if done else 77)


if __name__ == '__main__':
    main()
