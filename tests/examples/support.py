# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the examples' tests share: running programs with a time limit, PNG files, and checks that count."""

import atexit
import os
import pty
import queue
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

SKIP = 77
failures = 0


def check(condition, message):
    """Counts and prints a failure; goes on."""
    global failures
    if not condition:
        failures += 1
        print('FAILED:', message, file=sys.stderr, flush=True)
    return condition


def finish():
    print(f'{failures} checks failed' if failures else 'everything as expected')
    sys.exit(1 if failures else 0)


def skip(reason):
    print('skipped:', reason)
    sys.exit(SKIP)


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            skip(f'{program} is not installed')


def has_element(name):
    return subprocess.run(['gst-inspect-1.0', '--exists', name], check=False).returncode == 0


def open_terminal():
    """The two ends of a new pseudo-terminal; None where the machine has none, as in a bare chroot."""
    try:
        return pty.openpty()
    except OSError as error:
        print('not tried on a terminal:', error)
        return None


def wait_for(condition, seconds=20, step=0.05):
    """The first true value of condition(), or its last value after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(step)


class Program:
    """A running program whose output is read line by line while it runs."""

    def __init__(self, *command, stdin=subprocess.DEVNULL, env=None):
        self.lines, self.seen = queue.Queue(), []
        self.process = subprocess.Popen(list(map(str, command)), stdin=stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors='replace',
                                        env={**os.environ, **(env or {})})
        atexit.register(self.process.kill)  # whatever way the test ends; does nothing to one that has ended
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip('\n'))
        self.lines.put(None)

    def line_with(self, text, seconds=30):
        """The next line that contains `text`; ends the test if none comes."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                self.kill()
                print('\n'.join(self.seen), file=sys.stderr)
                sys.exit(f'no line with "{text}" came from {self.process.args}')
            self.seen.append(line)
            if text in line:
                return line

    def type(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def end(self, seconds=30):
        """Waits for the program; its exit status, or None if it had to be killed."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            status = None
        while True:
            line = self.lines.get()
            if line is None:
                return status
            self.seen.append(line)

    def stop(self, signal, seconds=30):
        self.process.send_signal(signal)
        return self.end(seconds)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def output(self):
        return '\n'.join(self.seen)


def run(*command, seconds=120, env=None):
    """A program's exit status (None: killed after `seconds`) and its output, stderr included."""
    program = Program(*command, env=env)
    status = program.end(seconds)
    return status, program.output()


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix='sobel-example-')


def write_png(path, width, height, pixel):
    """pixel (x, y) -> (r, g, b)"""
    rows = b''.join(b'\0' + bytes(v for x in range(width) for v in pixel(x, y)) for y in range(height))

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    with open(path, 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0))
                   + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def read_png(data):
    """(width, height, rows of (r, g, b)) of an 8-bit RGB or RGBA PNG without interlacing."""
    position, packed, header = 8, b'', None
    while position < len(data):
        size, kind = struct.unpack('>I4s', data[position:position + 8])
        body = data[position + 8:position + 8 + size]
        if kind == b'IHDR':
            header = struct.unpack('>IIBBBBB', body)
        elif kind == b'IDAT':
            packed += body
        position += size + 12
    width, height, depth, color, _, _, interlace = header
    if depth != 8 or color not in (2, 6) or interlace:
        raise ValueError(f'a PNG of {depth} bits, colour type {color}')
    n = 3 if color == 2 else 4
    raw, stride = zlib.decompress(packed), width * n
    before, rows = bytearray(stride), []
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride if kind else 0):
            left, up = row[i - n] if i >= n else 0, before[i]
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + up) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            else:
                corner = before[i - n] if i >= n else 0
                guess = left + up - corner
                a, b, c = abs(guess - left), abs(guess - up), abs(guess - corner)
                row[i] = (row[i] + (left if a <= b and a <= c else up if b <= c else corner)) & 255
        rows.append([tuple(row[i:i + 3]) for i in range(0, stride, n)])
        before = row
    return width, height, rows
