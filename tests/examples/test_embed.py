#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The embedding example: keys through a pipe and through a terminal, errors, and the terminal left as it was.

usage: test_embed.py EMBED
"""

import os
import re
import signal
import subprocess
import sys
import termios

from support import Program, check, finish, open_terminal, run, wait_for


def check_keys(embed):
    program = Program(embed, '--sink=fakesink', stdin=subprocess.PIPE)
    program.line_with('frames are computed on: ')
    for key, expected in (('m', 'mode mask'), ('M', 'mode overlay'), ('c', 'overlay-color 0xff00ff00'),
                          ('T', 'threshold 0.15'), ('t', 'threshold 0.1'), ('G', 'gain 2'), ('g', 'gain 1'),
                          ('i', 'invert true'), ('b', 'bypass true'), ('o', 'operator scharr'),
                          ('h', 'next preset'), (' ', 'paused'), (' ', 'playing')):
        program.type(key)
        line = program.line_with(expected, 10)
        check(expected in line, f'{key!r}: {line}')
    names = []
    for _ in range(4):
        program.type('p')
        names.append(program.line_with('preset ', 10))
    check(len(set(names)) == 4, f'presets: {names}')
    program.type('s')
    check('frames-out=' in program.line_with('application/x-cudasobel-stats', 10), 'the counters')
    line = program.line_with('frames/s', 10)
    check(re.search(r'in \d+   out \d+   dropped 0   \d+\.\d+ ms to compute one   (cpu|cuda): \S', line), line)
    program.type('q')
    check(program.end() == 0, 'the end: ' + program.output())


def check_terminal(embed):
    """Keys act without Enter and are not echoed; Ctrl-C ends the program, and the terminal is what it was."""
    ends = open_terminal()
    if not ends:
        return
    controller, terminal = ends
    before = termios.tcgetattr(terminal)
    program = Program(embed, '--sink=fakesink', stdin=terminal)
    program.line_with('frames are computed on: ')
    check(wait_for(lambda: not termios.tcgetattr(terminal)[3] & (termios.ICANON | termios.ECHO)),
          'the terminal waits for whole lines')
    os.write(controller, b'\x1b[A')  # an arrow key means nothing
    program.line_with('frames/s', 10)
    os.write(controller, b'T')
    program.line_with('threshold 0.15', 10)
    check(program.stop(signal.SIGINT) == 0, 'Ctrl-C: ' + program.output())
    check(termios.tcgetattr(terminal) == before, 'the terminal is left changed')
    os.close(controller)
    os.close(terminal)


def main():
    embed = sys.argv[1]
    status, text = run(embed, '--help')
    check(status == 0 and '--frames' in text and 'next operator' in text, text)
    check(run(embed, '--nonsense')[0] == 2, 'an unknown option')
    status, text = run(embed, '/nothing/here.mp4', '--sink=fakesink')
    check(status == 1 and 'error from' in text, f'a file that is not there: {status} {text}')
    status, text = run(embed, '--sink=nosuchsink')
    check(status == 1 and 'nosuchsink' in text, f'an element that is not there: {status} {text}')
    status, text = run(embed, '--frames=20', '--sink=fakesink')
    check(status == 0 and re.search(r'out (2\d)\b', text), text)
    check_keys(embed)
    check_terminal(embed)
    finish()


main()
