#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The web example's page in headless Chromium: the edges lie on the picture, and the controls change it.

usage: test_web_page.py WEB [--picture FILE --screenshot PNG]
With --picture: only takes a screenshot of the page with that picture, for the documentation.
"""

import argparse
import base64
import json
import os
import shutil
import signal
import sys
import urllib.error
import urllib.request

from support import Program, check, finish, need, read_png, temporary_folder, wait_for, write_png

CHROMIUM = ('--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--hide-scrollbars',
            '--disable-background-networking', '--disable-component-update', '--disable-sync',
            '--disable-dev-shm-usage', '--window-size=1440,1000')
ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'  # the key that WebDriver gives references to elements

# The test picture: a brighter square on a dark ground.
WIDTH, HEIGHT, LEFT, TOP, SIDE = 640, 360, 160, 90, 180
DARK, BRIGHT = 60, 110
GREEN = (0, 255, 0)


class Browser:
    """Chromium, driven through the WebDriver protocol of chromedriver."""

    def __init__(self, folder):
        self.driver = Program('chromedriver', '--port=0')
        port = self.driver.line_with('started successfully on port').rstrip('.').split()[-1]
        self.base = f'http://127.0.0.1:{port}/session'
        options = {'binary': shutil.which('chromium'),
                   'args': [*CHROMIUM, '--user-data-dir=' + os.path.join(folder, 'profile')]}
        # The page is never done loading: its picture is a stream.
        session = self.call('', {'capabilities': {'alwaysMatch': {
            'browserName': 'chrome', 'pageLoadStrategy': 'none', 'goog:chromeOptions': options}}})
        self.base += '/' + session['sessionId']

    def call(self, path, data=None, method=None):
        body = json.dumps(data).encode() if data is not None else None
        request = urllib.request.Request(self.base + path, body, {'Content-Type': 'application/json'}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)['value']
        except urllib.error.HTTPError as error:
            sys.exit(f'{path}: {error.read().decode(errors="replace")[:2000]}')

    def script(self, text, *arguments):
        return self.call('/execute/sync', {'script': text, 'args': list(arguments)})

    def find(self, css):
        return self.call('/element', {'using': 'css selector', 'value': css})[ELEMENT]

    def click(self, css):
        self.call(f'/element/{self.find(css)}/click', {})

    def keys(self, css, text):
        self.call(f'/element/{self.find(css)}/value', {'text': text})

    def picture(self):
        return read_png(base64.b64decode(self.call(f'/element/{self.find("#picture")}/screenshot')))

    def screenshot(self, path):
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('/screenshot')))

    def close(self):
        self.call('', method='DELETE')
        self.driver.stop(signal.SIGTERM)


def open_page(browser, address):
    browser.call('/url', {'url': address})
    wait_for(lambda: browser.script(
        'return document.querySelector("#state.live") && document.querySelector("#picture").naturalWidth > 0 &&'
        ' document.querySelector("#mode-overlay") !== null'))
    check(browser.script('return document.querySelector("#picture").naturalWidth') > 0, 'no picture on the page')


def is_near(pixel, color, by):
    return all(abs(a - b) <= by for a, b in zip(pixel, color))


def greens(picture):
    """Positions of green pixels, in pixels of the test picture."""
    width, height, rows = picture
    return [((x + .5) * WIDTH / width, (y + .5) * HEIGHT / height) for y, row in enumerate(rows)
            for x, (r, g, b) in enumerate(row) if g > r + 60 and g > b + 60]


def distance_to_outline(x, y):
    right, bottom = LEFT + SIDE, TOP + SIDE
    beside = max(LEFT - x, 0, x - right), max(TOP - y, 0, y - bottom)
    if any(beside):
        return max(beside)
    return min(x - LEFT, right - x, y - TOP, bottom - y)


def check_plain(picture, what):
    """The test picture without edges."""
    width, height, rows = picture
    inside = rows[int((TOP + SIDE / 2) * height / HEIGHT)][int((LEFT + SIDE / 2) * width / WIDTH)]
    outside = rows[int(20 * height / HEIGHT)][int(20 * width / WIDTH)]
    check(is_near(inside, (BRIGHT,) * 3, 6) and is_near(outside, (DARK,) * 3, 6),
          f'{what}: the square is {inside}, the ground {outside}')


def check_overlay(picture):
    """Green along the whole outline, nowhere else, and the picture everywhere else."""
    found = greens(picture)
    check_plain(picture, 'overlay')
    far = [p for p in found if distance_to_outline(*p) > 4]
    check(found and not far, f'{len(far)} of {len(found)} green pixels are not at the outline: {far[:3]}')
    sides = {'left': (lambda x, y: abs(x - LEFT) < 4, 1), 'right': (lambda x, y: abs(x - LEFT - SIDE) < 4, 1),
             'top': (lambda x, y: abs(y - TOP) < 4, 0), 'bottom': (lambda x, y: abs(y - TOP - SIDE) < 4, 0)}
    for name, (on_side, axis) in sides.items():
        covered = {int(p[axis]) for p in found if on_side(*p)}
        check(len(covered & set(range((LEFT, TOP)[axis] + 2, (LEFT, TOP)[axis] + SIDE - 2))) > 0.95 * (SIDE - 4),
              f'the {name} side is green over {len(covered)} of {SIDE} pixels')
    print(f'{len(found)} green pixels, all within 4 of the outline')


def until(browser, condition, what):
    """Pictures that show a change are a moment away. The first that satisfies `condition`."""
    holder = []

    def look():
        holder[:] = [browser.picture()]
        return condition(holder[0])

    check(wait_for(look, 15, 0.2), what)
    return holder[0]


def check_controls(browser):
    browser.click('#bypass')
    plain = until(browser, lambda p: not greens(p), 'the switch for the picture without edges does nothing')
    check_plain(plain, 'bypass')
    browser.click('#bypass')
    check_overlay(until(browser, greens, 'the edges do not come back'))

    # 60 to 110 gives an edge of 200 codes of 255: a threshold above that removes it.
    browser.keys('#threshold', '\ue010')  # the key End
    check(browser.script('return document.querySelector("#threshold").value') == '1', 'the slider did not move')
    above = until(browser, lambda p: not greens(p), 'the threshold does nothing')
    check_plain(above, 'the highest threshold')
    check('threshold=1' in browser.script('return document.querySelector("#pipeline").textContent'),
          'the pipeline text does not follow')
    browser.keys('#threshold', '\ue011')  # Home

    browser.click('label:has(#mode-edges) span')
    edges = until(browser, lambda p: p[2][20][20][0] < 10, 'the mode does nothing')
    check(not greens(edges) and max(max(row, key=sum)[0] for row in edges[2]) > 150,
          'mode=edges: no bright edges on black')
    browser.click('#invert')
    until(browser, lambda p: p[2][20][20][0] > 245, 'invert does nothing')
    browser.keys('#gain', '\ue011')
    # The picture's corners are round.
    until(browser, lambda p: min(min(row[30:-30], key=sum)[0] for row in p[2][30:-30]) > 230, 'the gain does nothing')
    browser.click('#presets button')  # focus peaking
    until(browser, lambda p: any(r > g + 100 for row in p[2] for r, g, b in row), 'the preset does nothing')
    check(browser.script('return document.querySelector("#problem").textContent') == '', 'the page shows a problem')
    check(wait_for(lambda: browser.script('return document.querySelector("#mode-overlay").checked')),
          'the controls do not follow a preset')


def set_color(browser, color):
    browser.script('const c = document.querySelector("#color"); c.value = arguments[0];'
                   'c.dispatchEvent(new Event("input"));', color)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('web')
    parser.add_argument('--picture')
    parser.add_argument('--screenshot')
    options = parser.parse_args()
    need('chromium', 'chromedriver')
    with temporary_folder() as folder:
        path = options.picture or os.path.join(folder, 'square.png')
        if not options.picture:
            write_png(path, WIDTH, HEIGHT, lambda x, y: ((BRIGHT if LEFT <= x < LEFT + SIDE and TOP <= y < TOP + SIDE
                                                          else DARK),) * 3)
        program = Program(options.web, '--port=0', '--quality=95', path)
        address = program.line_with('http://')
        browser = Browser(folder)
        try:
            open_page(browser, address)
            set_color(browser, '#00ff00')
            overlaid = until(browser, greens, 'the colour does nothing')
            if not options.picture:
                check_overlay(overlaid)
                check_controls(browser)
            if options.screenshot:
                wait_for(lambda: browser.script('return parseFloat(document.querySelector("#rate").textContent) > 10'))
                browser.screenshot(options.screenshot)
        finally:
            browser.close()
        # The browser is gone, the server is not.
        check(program.process.poll() is None, 'the server ended: ' + program.output())
        check(program.stop(signal.SIGINT) == 0, 'the end: ' + program.output())
    finish()


main()
