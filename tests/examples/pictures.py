#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes docs/pictures: every mode and preset on photographs and on a frame of a clip, all of them from Debian's package
forensics-samples-files, and the page of the web example.

usage: pictures.py [--out FOLDER] [--web PROGRAM]     makes them (the page only with --web)
       pictures.py --check                            makes them elsewhere and compares with what is in docs/pictures
Finds the element as GStreamer does: meson devenv -C build python3 tests/examples/pictures.py
"""

import argparse
import os
import pathlib
import subprocess
import sys

from support import check, finish, has_element, need, read_png, skip, temporary_folder

PICTURES = pathlib.Path(__file__).resolve().parents[2] / 'docs' / 'pictures'
SAMPLES = pathlib.Path('/usr/share/forensics-samples/original-files')
MAX_BYTES = 200 * 1024
# jpegenc writes the codes that it gets, and JPEG is full range.
JPEG_INPUT = 'video/x-raw,format={I420,Y42B,Y444},colorimetry=1:4:0:0'
GREEN = 'overlay-color=0xff00ff00'

# Name: (file of the package, what it shows, how it becomes frames)
SOURCES = {
    'city': ('pic1/IMG_1054.JPG', 'a photograph of a city', 'video/x-raw,format=RGB,width=480,height=360'),
    'board': ('pic1/IMG_20200827_231612.jpg', 'a photograph of a circuit board',
              'video/x-raw,format=RGB,width=480,height=360'),
    # As decoded, in I420: four pixels share a colour sample.
    'clip': ('movie1/VID_20191220_170832.mp4', 'frame 31 of a phone video',
             'video/x-raw,format=I420,width=640,height=360'),
}
CLIP_FRAME = 31

# Name after that of the source: what is given to cudasobel; '' for the source itself.
MODES = {
    '': '',
    '-edges': 'mode=edges gain=0.7',
    '-overlay': f'mode=overlay threshold=0.25 {GREEN}',
    '-mask': 'mode=mask threshold=0.2',
    '-direction': 'mode=direction threshold=0.1',
}
LOOKS = {
    'board-focus-peaking': '@preset="focus peaking"',
    'city-pencil-drawing': '@preset="pencil drawing"',
    'clip-neon-on-black': '@preset="neon on black"',
    'clip-plain-edges': '@preset="plain edges"',
}
PAGE = 'page'


def recipes():
    """{name: (source, settings)}"""
    result = {source + suffix: (source, settings) for source in SOURCES for suffix, settings in MODES.items()}
    result.update({name: (name.split('-', 1)[0], settings) for name, settings in LOOKS.items()})
    return result


def launch(*words):
    result = subprocess.run(['gst-launch-1.0', '-q', *words], check=False, capture_output=True, text=True, timeout=120,
                            stdin=subprocess.DEVNULL)
    if result.returncode or result.stderr.strip():
        sys.exit(f'gst-launch-1.0 {" ".join(words)}: {result.stderr}')


def make(name, ending, encoder):
    """A picture at `ending`, a path."""
    source, settings = recipes()[name]
    file, _, caps = SOURCES[source]
    frames = CLIP_FRAME if source == 'clip' else 1
    words = ['filesrc', f'location={SAMPLES / file}', '!', 'decodebin', '!', 'videoconvert', '!', 'videoscale',
             'method=lanczos', '!', 'videoconvert', '!', caps, '!', 'identity', f'eos-after={frames + 1}', '!']
    if settings:
        words += ['cudasobel', *(['@preset=' + settings.split('=')[1].strip('"')] if settings.startswith('@')
                                 else settings.split()), '!']
    # Each frame takes the place of the one before it: the last one stays.
    launch(*words, 'videoconvert', '!', *encoder.split(), '!', 'multifilesink', f'location={ending}')


def make_jpeg(name, folder):
    """As good as fits into MAX_BYTES."""
    path = pathlib.Path(folder, name + '.jpg')
    for quality in (90, 85, 80, 75, 70, 60, 50):
        make(name, path, f'{JPEG_INPUT} ! jpegenc quality={quality}')
        if path.stat().st_size <= MAX_BYTES:
            break
    print(f'{path.name:28} {path.stat().st_size // 1024:4} KiB, quality {quality}', flush=True)


def make_page(web, folder):
    """The screenshot of the web example, as a JPEG."""
    png, out = pathlib.Path(folder, PAGE + '.png'), pathlib.Path(folder, PAGE + '.jpg')
    script = pathlib.Path(__file__).with_name('test_web_page.py')
    subprocess.run([sys.executable, script, web, '--picture', SAMPLES / SOURCES['clip'][0], '--screenshot', png],
                   check=True, timeout=120)
    launch('filesrc', f'location={png}', '!', 'pngdec', '!', 'videoconvert', '!', JPEG_INPUT, '!',
           'jpegenc', 'quality=80', '!',
           'filesink', f'location={out}')
    png.unlink()
    print(f'{out.name:28} {out.stat().st_size // 1024:4} KiB', flush=True)


def readme():
    lines = [
        '# Pictures', '',
        'Made by [tests/examples/pictures.py](../../tests/examples/pictures.py), which says how; scaled down before '
        'the filter.', '',
        '| picture | source | through |', '|---|---|---|']
    for name, (source, settings) in recipes().items():
        file, what, _ = SOURCES[source]
        through = f'`cudasobel {settings}`' if settings else '–'
        lines.append(f'| [{name}.jpg]({name}.jpg) | {what}, `{file}` | {through} |')
    lines += [
        f'| [{PAGE}.jpg]({PAGE}.jpg) | `{SOURCES["clip"][0]}` | the example `web`, seen in Chromium |', '',
        "The sources are files of Debian's package `forensics-samples-files`",
        '(`/usr/share/forensics-samples/original-files`),',
        '© 2019–2020 Joao Eriberto Mota Filho, licensed under',
        '[CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/); what is made from them here is under the',
        'same licence.', '']
    return '\n'.join(lines)


def difference(name, folder):
    """The mean difference per sample between a picture made now, without loss, and the one in docs/pictures."""
    new, old = pathlib.Path(folder, name + '.png'), pathlib.Path(folder, name + '-old.png')
    make(name, new, 'pngenc compression-level=1')
    launch('filesrc', f'location={PICTURES / name}.jpg', '!', 'jpegdec', '!', 'videoconvert', '!',
           'video/x-raw,format=RGB', '!', 'pngenc', 'compression-level=1', '!', 'filesink', f'location={old}')
    (width, height, a), (width_b, height_b, b) = read_png(new.read_bytes()), read_png(old.read_bytes())
    if (width, height) != (width_b, height_b):
        return 255
    total = sum(abs(p[0] - q[0]) + abs(p[1] - q[1]) + abs(p[2] - q[2])
                for row_a, row_b in zip(a, b) for p, q in zip(row_a, row_b))
    return total / width / height / 3


def check_all():
    check((PICTURES / 'README.md').read_text(encoding='utf-8') == readme(), 'docs/pictures/README.md is out of date')
    expected = {name + '.jpg' for name in (*recipes(), PAGE)} | {'README.md'}
    found = {path.name for path in PICTURES.iterdir()}
    check(found == expected, f'missing: {sorted(expected - found)}, too many: {sorted(found - expected)}')
    for path in PICTURES.glob('*.jpg'):
        check(path.stat().st_size <= MAX_BYTES, f'{path.name} is too large')
    # One of each kind: what JPEG loses is a few codes, another picture differs by dozens.
    with temporary_folder() as folder:
        for name in ('city', 'city-edges', 'board-overlay', 'clip-overlay', 'clip-mask', 'board-direction',
                     *LOOKS):
            mean = difference(name, folder)
            print(f'{name:28} {mean:.2f}', flush=True)
            check(mean < (5 if name.startswith('clip') else 13),
                  f'{name}.jpg is not what is made now: {mean:.1f} codes apart')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--out', default=PICTURES)
    parser.add_argument('--web')
    parser.add_argument('--check', action='store_true')
    options = parser.parse_args()
    need('gst-launch-1.0', 'gst-inspect-1.0')
    if not SAMPLES.is_dir():
        skip("Debian's package forensics-samples-files is not installed")
    if not has_element('avdec_h264') and not has_element('openh264dec'):
        skip('there is no decoder for H.264')
    if options.check:
        check_all()
        finish()
    os.makedirs(options.out, exist_ok=True)
    for name in recipes():
        make_jpeg(name, options.out)
    if options.web:
        make_page(options.web, options.out)
    pathlib.Path(options.out, 'README.md').write_text(readme(), encoding='utf-8')


if __name__ == '__main__':
    main()
