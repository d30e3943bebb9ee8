# SPDX-License-Identifier: Apache-2.0
"""Programs that give no samples, wrong ones or too few: what is said, the exit code, and that none is left behind."""

import shutil
import time
import unittest

import dlc

HEADER = r"""printf '{\"dlc\": 1, \"arrays\": [{\"name\": \"x\", \"dtype\": \"uint8\", \"shape\": [1, 8, 8]}, {\"name\": \"y\", \"dtype\": \"uint8\", \"shape\": []}]}\n'""".replace('\\"', '"')


class BadStreams(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def refuse(self, message, command, code=dlc.FAILED, **options):
        shutil.rmtree(self.path("run"), ignore_errors=True)
        options = {"steps": 5, "run": self.path("run"), **options}
        _, err = dlc.dlc("train", self.artifact, data_command=command, code=code, timeout=30, **options)
        self.assertRegex(err, message)
        return err

    def test_headers(self):
        for line, message in [
                ("x", r"its first line is not a sample header: .*\(found 'x'\)"),
                ("[1]", "expected an object"),
                ("{}", "dlc"),
                ('{"dlc": 2, "arrays": []}', '"dlc" is 2, expected 1'),
                ('{"dlc": 1, "arrays": []}', "expected a list 'arrays'"),
                ('{"dlc": 1, "arrays": [{"name": "x", "dtype": "complex64", "shape": []}]}', "'x' has dtype 'complex64', expected float32"),
                ('{"dlc": 1, "arrays": [{"name": "x", "dtype": "int64", "shape": [-1]}]}', "'x' has a shape with -1"),
                ('{"dlc": 1, "arrays": [{"name": "x", "dtype": "int64", "shape": [9999999999999]}]}', "makes a sample larger than 1 GiB"),
                ('{"dlc": 1, "arrays": [{"name": "x", "dtype": "int64", "shape": [0]}]}', "a sample has no bytes"),
                ('{"dlc": 1, "samples": 0, "arrays": [{"name": "x", "dtype": "int64", "shape": []}]}', '"samples" is 0'),
                ('{"dlc": 1, "arrays": [{"name": "x", "dtype": "float32", "shape": [8, 8]}]}', r"'x': a sample has shape \[8, 8\], expected \[1, 8, 8\]"),
                ('{"dlc": 1, "arrays": [{"name": "x", "dtype": "float32", "shape": [1, 8, 8]}]}', "has no array 'y', found: x")]:
            with self.subTest(message):
                self.refuse(message, f"echo '{line}'; sleep 20")
        self.refuse("its first line has more than 64 KiB", "head -c 100000 /dev/zero")

    def test_ends(self):
        for command, message in [
                ("exit 3", "ended before its header: it ended with exit code 3"),
                ("no-such-program", r"(?s)exit code 127; it said:\n.*no-such-program"),
                (HEADER + "; head -c 1300 /dev/zero", "ended after 20 samples: it ended with exit code 0"),
                (HEADER + "; head -c 1310 /dev/zero; echo broken >&2; exit 9", r"ended after 20 samples and 10 of the next one's 65 bytes: it ended with exit code 9; it said:\nbroken"),
                (HEADER + "; kill -9 $$", "signal 9 ended it"),
                (HEADER + "; kill $$", "signal 15 ended it"),
                (HEADER + r"; yes | head -c 9999", r"label 10 in row \d+|'y': label \d+")]:
            with self.subTest(message):
                self.refuse(message, command)

    def test_a_program_that_hangs_is_ended(self):
        for i, command in enumerate((f"sleep 77 & echo $! > {self.path('pid')}; wait", f"{HEADER}; trap '' TERM; sleep 77 & echo $! > {self.path('pid')}; wait; wait")):
            with self.subTest(command):
                begun = time.monotonic()
                self.refuse("nothing came for 1.5 s .--data-timeout.", command, data_timeout=1.5)
                self.assertLess(time.monotonic() - begun, 15)
                with open(self.path("pid")) as file:
                    pid = file.read().strip()
                while dlc.is_alive(pid):
                    self.assertLess(time.monotonic() - begun, 20, "what it started is left")
                    time.sleep(0.1)

    def test_options(self):
        endless = HEADER + "; cat /dev/zero"
        for message, options in [
                ("does not say how many samples there are: expected --steps=N", dict(steps=None, epochs=3)),
                ("--data and --data-command are both given", dict(data="a.npz")),
                ("--shuffle=on: samples of another program have a fixed order", dict(shuffle="on")),
                ("--mixup and --cutmix: samples of another program", dict(mixup=0.2)),
                ("samples of another program are augmented there", dict(hflip=True))]:
            with self.subTest(message):
                self.refuse(message, endless, code=dlc.USAGE, **options)
        artifact = dlc.compile(dlc.model("mlp"), self.path("ddp.dlc"), batch=16, ddp=2)
        _, err = dlc.dlc("train", artifact, data="-", steps=3, run=self.path("run"), code=dlc.USAGE)
        self.assertIn("--data=- is for one rank", err)


if __name__ == "__main__":
    unittest.main()
