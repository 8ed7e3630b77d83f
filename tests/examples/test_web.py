#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The web example without a browser: its answers, what it refuses, and viewers of every kind.

usage: test_web.py WEB
"""

import json
import os
import random
import re
import signal
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from support import Program, check, finish, read_png, run, temporary_folder, wait_for, write_png


class Site:
    def __init__(self, address):
        self.address = address
        self.host, self.port = re.match(r'http://([^:/]+):(\d+)/', address).groups()
        self.port = int(self.port)

    def ask(self, path, form=None, headers=None):
        """(status, body as bytes)"""
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        request = urllib.request.Request(self.address + path, data, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def settings(self, form=None):
        status, body = self.ask('settings', form)
        check(status == 200, f'/settings with {form}: {status} {body[:200]}')
        return json.loads(body)

    def raw(self, text):
        """The status of the answer to `text`, sent as it is; 0: closed without one."""
        with socket.create_connection((self.host, self.port), timeout=20) as connection:
            try:
                connection.sendall(text)
                reply = connection.recv(4096)
            except ConnectionError:
                reply = b''
        match = re.match(rb'HTTP/1\.\d (\d+) ', reply)
        return int(match.group(1)) if match else 0

    def watch(self, receive_buffer=None):
        """A connection that the server sends pictures to."""
        viewer = socket.socket()
        if receive_buffer:
            viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        viewer.settimeout(20)
        viewer.connect((self.host, self.port))
        viewer.sendall(f'GET /stream HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n\r\n'.encode())
        return viewer


def read_pictures(viewer, n):
    """The next n pictures, each a JPEG."""
    file = viewer.makefile('rb')
    pictures = []
    while len(pictures) < n:
        line = file.readline()
        if not line:
            break
        match = re.match(rb'Content-Length: (\d+)', line)
        if match:
            file.readline()
            pictures.append(file.read(int(match.group(1))))
    return pictures


def check_settings(site):
    first = site.settings()
    check(first['mode'] == 'overlay' and first['modes'] == ['edges', 'overlay', 'mask', 'direction'], first)
    check('neon on black' in first['presets'] and first['backend'] in ('cpu', 'cuda'), first)

    then = site.settings({'mode': 'mask', 'threshold': '0.25', 'gain': '2', 'invert': 'true', 'color': '#0a8cff',
                          'strength': '0.5'})
    for name, value in {'mode': 'mask', 'threshold': 0.25, 'gain': 2, 'invert': True, 'color': '#0a8cff'}.items():
        check(then[name] == value, f'{name} is {then[name]}')
    check(abs(then['strength'] - 0.5) < 0.003, f"strength is {then['strength']}")

    for form in ({'threshold': '2'}, {'threshold': 'nan'}, {'gain': '-1'}, {'mode': 'moon'}, {'color': 'red'},
                 {'color': '#12345'}, {'strength': '1.5'}, {'preset': 'nothing'}, {'backend': 'cuda'},
                 {'name': 'other'}, {'mode': 'edges', 'gain': 'x'}):
        status, body = site.ask('settings', form)
        check(status == 400 and b'cannot be' in body, f'{form}: {status} {body}')
        check(site.settings()['mode'] == 'mask', f'{form} changed something')

    check(site.settings({'preset': 'pencil drawing'})['invert'] is True, 'the preset was not loaded')
    check(site.settings({'preset': 'plain edges'})['gain'] == 1, 'the preset was not loaded')


def check_refusals(site):
    host = f'Host: {site.host}:{site.port}\r\n'
    check(site.ask('nothing')[0] == 404, 'a path that is not there')
    check(site.ask('', {})[0] == 405, 'POST to the page')
    check(site.ask('settings', headers={'Host': f'example.org:{site.port}'})[0] == 403, 'another host name')
    check(site.ask('settings', {'mode': 'edges'}, {'Origin': 'http://example.org'})[0] == 403, "another site's page")
    check(site.ask('stream', headers={'Origin': 'http://example.org'})[0] == 403, "another site's page")
    own = {'Origin': f'http://{site.host}:{site.port}'}
    check(site.ask('settings', {'mode': 'edges'}, own)[0] == 200, 'the own page')
    for text, expected in ((b'hello\r\n\r\n', 400), (b'GET / HTTP/1.1\r\n\r\n', 403), (b'\0\0\0\0', 400),
                           (f'GET / HTTP/1.1\r\n{host}Content-Length: x\r\n\r\n'.encode(), 413),
                           (f'POST /settings HTTP/1.1\r\n{host}Content-Length: 99999999\r\n\r\n'.encode(), 413)):
        got = site.raw(text)
        check(got == expected, f'{text!r}: {got}, not {expected}')
    # Closing with unread input may cost the answer, but nothing else.
    check(site.raw(b'GET / HTTP/1.1\r\nX: ' + b'x' * 100000) in (413, 0), 'an endless head')
    with open('/proc/net/tcp', encoding='ascii') as table:
        listening = [line.split()[1] for line in table if line.split()[3] == '0A']
    check(f'0100007F:{site.port:04X}' in listening and f'00000000:{site.port:04X}' not in listening,
          'listens at more than this machine')


def check_viewers(site):
    fast = [site.watch() for _ in range(3)]
    slow = site.watch(receive_buffer=4096)
    wait_for(lambda: site.settings()['viewers'] == 4)
    check(site.settings()['viewers'] == 4, site.settings())
    gone = site.watch()
    gone.close()

    before = time.monotonic()
    for viewer in fast:
        pictures = read_pictures(viewer, 40)
        check(len(pictures) == 40, f'{len(pictures)} pictures of 40')
        check(all(p.startswith(b'\xff\xd8') and p.endswith(b'\xff\xd9') for p in pictures), 'not all of them are JPEGs')
    elapsed = time.monotonic() - before
    check(elapsed < 15, f'40 pictures for each took {elapsed:.1f} s')
    check(wait_for(lambda: site.settings()['missed'] > 0), 'the slow viewer missed nothing')
    pictures = read_pictures(slow, 5)
    check(len(pictures) == 5 and all(p.endswith(b'\xff\xd9') for p in pictures), 'what the slow viewer got is broken')
    for viewer in fast + [slow]:
        viewer.close()
    check(wait_for(lambda: site.settings()['viewers'] == 0), 'viewers that left are counted')
    print('pictures missed by the slow viewer:', site.settings()['missed'])


def check_black(web, folder):
    """The test picture's ground is black, as video has it, and must be black for the browser too."""
    program = Program(web, '--test', '--port=0')
    site = Site(program.line_with('http://'))
    jpeg, png = os.path.join(folder, 'picture.jpg'), os.path.join(folder, 'picture.png')
    check(wait_for(lambda: site.ask('picture.jpg')[0] == 200), 'no picture')
    with open(jpeg, 'wb') as file:
        file.write(site.ask('picture.jpg')[1])
    status, text = run('gst-launch-1.0', '-q', 'filesrc', f'location={jpeg}', '!', 'jpegdec', '!', 'videoconvert', '!',
                       'video/x-raw,format=RGB', '!', 'pngenc', '!', 'filesink', f'location={png}')
    check(status == 0, text)
    with open(png, 'rb') as file:
        corner = read_png(file.read())[2][2][2]
    check(max(corner) <= 3, f'black is {corner}')
    check(program.stop(signal.SIGTERM) == 0, 'the end: ' + program.output())


def main():
    web = sys.argv[1]
    status, text = run(web, '--help')
    check(status == 0 and '--port' in text, text)
    check(run(web, '--port=99999')[0] == 2, 'a port that cannot be')
    status, text = run(web, '/nothing/here.mp4', '--port=0')
    check(status == 1 and 'error' in text, f'a file that is not there: {status} {text}')

    with temporary_folder() as folder:
        noise, path = random.Random(1), os.path.join(folder, 'noise.png')
        write_png(path, 320, 240, lambda x, y: (noise.randrange(256),) * 3)
        program = Program(web, '--port=0', '--quality=100', path)
        site = Site(program.line_with('http://'))
        check(run(web, f'--port={site.port}', '--test')[0] == 1, 'a port that is taken')
        check(wait_for(lambda: site.ask('picture.jpg')[0] == 200), 'no picture')
        check(b'<title>' in site.ask('')[1], 'no page')
        check_settings(site)
        check_refusals(site)
        site.settings({'mode': 'overlay'})
        check_viewers(site)
        check_black(web, folder)
        check(program.stop(signal.SIGTERM) == 0, 'the end: ' + program.output())
    finish()


main()
