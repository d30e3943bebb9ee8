# SPDX-License-Identifier: Apache-2.0
"""What a test has started ends with it (support/orphans.py)."""

import os
import signal
import subprocess
import sys
import time
import unittest

import dlc
import orphans

# A test that starts a process, which starts another in a session of its own.
TEST = """
import subprocess, sys, orphans
orphans.watch()
subprocess.Popen(["sh", "-c", "setsid sleep 1000 & sleep 1000"])
print("started", flush=True)
sys.stdin.read()
"""


class Orphans(unittest.TestCase):
    def setUp(self):
        own = {**os.environ, "PYTHONPATH": os.path.dirname(orphans.__file__)}
        own.pop(orphans.MARK)
        self.test = subprocess.Popen([sys.executable, "-c", TEST], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True, env=own)
        self.addCleanup(self.test.communicate)
        self.addCleanup(self.test.kill)
        self.mark = f"{orphans.MARK}={self.test.pid}".encode()
        self.assertEqual(self.test.stdout.readline(), "started\n")
        self.until(lambda: len(self.started()) == 3)

    def started(self):
        return list(orphans.marked(self.mark))

    def until(self, condition):
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end, self.started())
            time.sleep(0.05)

    def test_killed(self):
        self.test.kill()
        self.until(lambda: not self.started())

    def test_ended(self):
        self.test.stdin.close()
        self.assertEqual(self.test.wait(30), 0)
        self.until(lambda: not self.started())
        self.test.stdin = None

    def test_other_tests_stay(self):
        other = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(other.communicate)
        self.addCleanup(other.kill)
        self.test.send_signal(signal.SIGTERM)
        self.until(lambda: not self.started())
        self.assertTrue(dlc.is_alive(other.pid))


if __name__ == "__main__":
    unittest.main()
