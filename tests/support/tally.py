#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts what `meson test` did.

usage: tally.py stage NAME TESTLOG.json TALLY    adds one run to the file TALLY, and says how it went
       tally.py total TALLY                      prints "N passed, N failed[, N skipped]"; fails unless all is well
       tally.py --self-test
"""

import collections
import json
import os
import sys
import tempfile

PASSED = {'OK', 'EXPECTEDFAIL'}
SKIPPED = {'SKIP', 'IGNORED'}


def count(log):
    """log: lines of JSON, one a test. A test has one line; whatever is neither passed nor skipped has failed."""
    counts = collections.Counter()
    failures, skipped = [], []
    for line in log:
        if not line.strip():
            continue
        test = json.loads(line)
        if test['result'] in PASSED:
            counts['passed'] += 1
        elif test['result'] in SKIPPED:
            counts['skipped'] += 1
            # Programs end with the reason, most of them behind this word.
            lines = (test.get('stdout', '') + '\n' + test.get('stderr', '')).split('\n')
            reasons = [line.strip() for line in lines if line.strip()]
            reasons = [line.split(':', 1)[1].strip() for line in reasons if line.startswith('skipped:')] or reasons
            skipped.append(': '.join([test['name'], *reasons[-1:]]))
        else:
            counts['failed'] += 1
            failures.append(f"{test['name']} ({test['result']})")
    return counts, failures, skipped


def stage(name, log_path, tally_path):
    counts, failures, skipped = collections.Counter(), [], []
    if os.path.exists(log_path):
        with open(log_path, encoding='utf-8') as log:
            counts, failures, skipped = count(log)
    if not counts['passed'] + counts['failed']:
        counts['failed'] += 1
        failures.append('no test was run')
    with open(tally_path, 'a', encoding='utf-8') as tally:
        json.dump({'stage': name, **counts}, tally)
        tally.write('\n')
    print(f"-- {name}: {counts['passed']} of {counts['passed'] + counts['failed']} tests are fine"
          + (f", {counts['skipped']} could not run here" if counts['skipped'] else ''))
    for test in skipped:
        print(f'--   skipped: {test}')
    for failure in failures:
        print(f'--   failed in {name}: {failure}')


def total(tally_path):
    counts = collections.Counter()
    if os.path.exists(tally_path):
        with open(tally_path, encoding='utf-8') as tally:
            for line in tally:
                run = json.loads(line)
                run.pop('stage')
                counts.update(run)
    skipped = f", {counts['skipped']} skipped" if counts['skipped'] else ''
    line = f"{counts['passed']} passed, {counts['failed']} failed{skipped}"
    return line, counts['passed'] > 0 and not counts['failed']


def self_test():
    lines = [json.dumps({'name': f't{i}', 'result': r}) for i, r in enumerate(
        ['OK', 'EXPECTEDFAIL', 'SKIP', 'FAIL', 'TIMEOUT', 'ERROR', 'UNEXPECTEDPASS', 'INTERRUPT'])]
    lines.append(json.dumps({'name': 'gpu', 'result': 'SKIP', 'stdout': 'skipped: no GPU here\none\n'}))
    lines.append(json.dumps({'name': 'driver', 'result': 'SKIP', 'stderr': 'a line\nno driver\n'}))
    counts, failures, skipped = count(lines + ['\n'])
    assert counts == {'passed': 2, 'skipped': 3, 'failed': 5} and len(failures) == 5, (counts, failures)
    assert skipped == ['t2', 'gpu: no GPU here', 'driver: no driver'], skipped
    with tempfile.TemporaryDirectory() as work:
        tally = os.path.join(work, 'tally')
        assert total(tally) == ('0 passed, 0 failed', False), 'nothing run is no success'
        stage('lost', os.path.join(work, 'missing.json'), tally)
        assert total(tally) == ('0 passed, 1 failed', False), 'a missing log is no success'


def main():
    if sys.argv[1:] == ['--self-test']:
        self_test()
    elif sys.argv[1] == 'stage':
        stage(*sys.argv[2:])
    else:
        line, good = total(sys.argv[2])
        print(line)
        sys.exit(not good)


if __name__ == '__main__':
    main()
