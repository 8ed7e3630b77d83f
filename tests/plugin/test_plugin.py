#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The built plugin as users meet it: through gst-inspect-1.0 and gst-launch-1.0, in an environment of its own.

usage: test_plugin.py PLUGIN BUILD_ROOT MESON [STUBCUDA]
STUBCUDA, a build of stubcuda.c, is there where the plugin has the CUDA backend.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PLUGIN, BUILD_ROOT, MESON = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
STUBCUDA = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
HAVE_DRIVER = subprocess.run(['sh', '-c', 'ldconfig -p | grep -q libcuda.so.1'], check=False).returncode == 0
PLAY = ['videotestsrc', 'num-buffers=5', '!', 'video/x-raw,format=I420,width=64,height=48', '!', 'cudasobel', '!',
        'fakesink']


def with_property(setting):
    return [word if word != 'cudasobel' else f'cudasobel {setting}' for word in PLAY]


def plugins_folder():
    return pathlib.Path(subprocess.run(['pkg-config', '--variable=pluginsdir', 'gstreamer-1.0'], check=True,
                                       capture_output=True, text=True).stdout.strip())


class PluginTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = pathlib.Path(folder.name)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith('GST_')}
        self.env.update(GST_PLUGIN_PATH_1_0=str(pathlib.Path(PLUGIN).parent), G_DEBUG='fatal-criticals',
                        GST_REGISTRY_1_0=str(self.work / 'registry.bin'), LC_ALL='C.UTF-8')

    def run_tool(self, *words, expect=0, **env):
        line = ' '.join(words).split(' ')
        result = subprocess.run(line, env={**self.env, **env}, capture_output=True, text=True, timeout=120, check=False)
        if expect is not None:
            self.assertEqual(result.returncode, expect, f'{line}: {result.stdout}{result.stderr}')
        return result

    def test_inspection_is_silent_and_finds_everything(self):
        self.run_tool('gst-inspect-1.0', 'fakesink')  # the registry
        result = self.run_tool('gst-inspect-1.0', '--no-colors', 'cudasobel')
        self.assertEqual(result.stderr, '')
        for line in (r'Filter/Effect/Video', r'Rank +none \(0\)', r'GstVideoFilter', r'License +LGPL',
                     r'Plugin Details:\n +Name +cudasobel'):
            self.assertRegex(result.stdout, line)

    def test_nothing_is_blacklisted(self):
        result = self.run_tool('gst-inspect-1.0', '-b')
        self.assertNotIn('libgstcudasobel', result.stdout)

    def test_registry_scan_is_silent(self):
        alone = {'GST_PLUGIN_SYSTEM_PATH_1_0': '', 'GST_DEBUG': '2'}
        result = self.run_tool('gst-inspect-1.0', '--no-colors', 'cudasobel', **alone)
        self.assertEqual(result.stderr, '')

    def test_a_run_says_nothing(self):
        self.run_tool('gst-inspect-1.0', 'fakesink')
        result = self.run_tool('gst-launch-1.0', '-q', *PLAY, GST_DEBUG='cudasobel:3')
        self.assertEqual(result.stdout + result.stderr, '')

    @unittest.skipIf(HAVE_DRIVER, 'there is a driver')
    def test_without_gpu_the_reason_is_one_info_line(self):
        self.run_tool('gst-inspect-1.0', 'fakesink')
        result = self.run_tool('gst-launch-1.0', '-q', *PLAY, GST_DEBUG='cudasobel:4', GST_DEBUG_NO_COLOR='1')
        reasons = [line for line in result.stderr.splitlines()
                   if 'INFO' in line and re.search(r'(?i)no gpu|driver|without cuda', line.split('>')[-1])]
        self.assertEqual(len(reasons), 1, result.stderr)

    @unittest.skipIf(HAVE_DRIVER, 'there is a driver')
    def test_without_gpu_asking_for_one_is_a_clear_error(self):
        result = self.run_tool('gst-launch-1.0', *with_property('backend=cuda'), expect=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r'ERROR: from element .*cudasobel0')
        self.assertRegex(result.stderr, r'(?i)driver|gpu|built without')

    @unittest.skipUnless(STUBCUDA, 'built without CUDA')
    def test_each_kind_of_broken_driver(self):
        drivers = self.work / 'drivers'
        drivers.mkdir()
        (drivers / 'libcuda.so.1').symlink_to(STUBCUDA)
        self.run_tool('gst-inspect-1.0', 'fakesink')
        for reason, env in [(r'no NVIDIA GPU', {'STUB_CUDA_INIT': '100'}),
                            (r'cudaErrorInitializationError', {'STUB_CUDA_INIT': '3'}),
                            (r'cudaErrorStubLibrary', {'STUB_CUDA_INIT': '34'}),
                            (r'cudaErrorSystemDriverMismatch', {'STUB_CUDA_INIT': '803'}),
                            (r'cudaErrorUnknown', {'STUB_CUDA_INIT': '999'}),
                            (r'cudaErrorNotSupported', {'STUB_CUDA_INIT': '0'}),
                            (r'driver is too old.*11\.0', {'STUB_CUDA_VERSION': '11000'})]:
            env = {**env, 'LD_LIBRARY_PATH': str(drivers), 'GST_DEBUG_NO_COLOR': '1'}
            result = self.run_tool('gst-launch-1.0', '-q', *PLAY, **env, GST_DEBUG='cudasobel:4')
            self.assertRegex(result.stderr, 'INFO.*on the CPU.*' + reason)
            result = self.run_tool('gst-launch-1.0', '-q', *PLAY, **env)
            self.assertEqual(result.stdout + result.stderr, '', reason)
            result = self.run_tool('gst-launch-1.0', *with_property('backend=cuda'), **env, expect=None)
            self.assertGreater(result.returncode, 0, reason)  # and no signal
            self.assertRegex(result.stderr, reason)

    @unittest.skipUnless(STUBCUDA, 'built without CUDA')
    def test_a_driver_without_symbols(self):
        drivers = self.work / 'drivers'
        drivers.mkdir()
        (drivers / 'libcuda.so.1').symlink_to(PLUGIN)
        result = self.run_tool('gst-launch-1.0', '-q', *PLAY, LD_LIBRARY_PATH=str(drivers))
        self.assertEqual(result.stdout + result.stderr, '')

    def test_verbose_run_tells_the_backend(self):
        result = self.run_tool('gst-launch-1.0', '-v', *PLAY)
        self.assertRegex(result.stdout, r'cudasobel0: active-backend = (cpu|cuda)')

    def test_every_property_value_on_the_command_line(self):
        listing = self.run_tool('gst-inspect-1.0', '--no-colors', 'cudasobel').stdout
        settings = []
        for name, body in re.findall(r'^  ([a-z0-9-]+) +: (.*?)(?=^  [a-z0-9-]+ +:|\Z)', listing,
                                     re.MULTILINE | re.DOTALL):
            if 'writable' not in body or name in ('name', 'parent') or name == 'backend':
                continue
            values = re.findall(r'^ +\(-?\d+\): ([a-z0-9]+) ', body, re.MULTILINE)
            values += [v for pair in re.findall(r'Range: +(\S+) - +(\S+)', body) for v in pair]
            values += ['true', 'false'] if 'Boolean' in body else []
            self.assertTrue(values, f'no values of {name} found in: {body}')
            settings += [f'{name}={value}' for value in values]
        self.assertGreater(len(settings), 40)
        for setting in settings:
            result = self.run_tool('gst-launch-1.0', '-q', *with_property('backend=cpu ' + setting))
            self.assertEqual(result.stderr, '', setting)

    def test_loads_after_many_plugins(self):
        """A module with initial-exec thread-local storage fails once the static block is used up."""
        self.assertGreater(len(list(plugins_folder().glob('libgst*.so'))), 30)
        # All of them in one process; what others complain about is theirs.
        result = self.run_tool('gst-inspect-1.0', '-b', GST_REGISTRY_FORK='no', G_DEBUG='')
        self.assertNotIn('cudasobel', result.stdout)
        self.run_tool('gst-inspect-1.0', 'cudasobel')

    def test_installs_where_gstreamer_looks(self):
        target = self.work / 'root'
        subprocess.run([MESON, 'install', '-C', BUILD_ROOT, '--no-rebuild', '--destdir', str(target)], check=True,
                       capture_output=True)
        installed = target / str(plugins_folder()).lstrip('/') / 'libgstcudasobel.so'
        self.assertTrue(installed.exists(), [str(p) for p in target.rglob('*')])
        self.assertEqual(sorted(p.name for p in target.rglob('*') if p.is_file()),
                         ['GstCudaSobel.prs', 'libgstcudasobel.so'])
        result = self.run_tool('gst-inspect-1.0', 'cudasobel', GST_PLUGIN_PATH_1_0=str(installed.parent))
        self.assertIn(str(installed), result.stdout)


if __name__ == '__main__':
    if not shutil.which('gst-launch-1.0'):
        print('gst-launch-1.0 is not installed')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
