# SPDX-License-Identifier: Apache-2.0
"""dlc doctor: what a machine has is found, what is wrong is a warning with its way out, and the exit code says so."""

import json
import os
import re
import resource
import subprocess
from unittest import mock

import dlc


class Doctor(dlc.TestCase):
    def setUp(self):
        super().setUp()
        self.cache = self.path("cache")
        os.mkdir(self.cache, 0o700)

    def examine(self, *words, environment=(), code=None):
        """The findings by section and name, and the number of warnings."""
        variables = {**os.environ, "DLC_CACHE_DIR": self.cache, **dict(environment)}
        with mock.patch.dict(os.environ, variables):
            process = dlc.start("doctor", "--json", *words)
            status, out, err = dlc.finish(process, timeout=60)
        found = json.loads(out)
        self.assertEqual(err, "")
        self.assertEqual(status, dlc.FAILED if found["warnings"] else dlc.OK)
        if code is not None:
            self.assertEqual(status, code)
        sections = found["sections"]
        self.warnings = [one for section in sections.values() for one in section if one["warns"]]
        self.assertEqual(len(self.warnings), found["warnings"])
        for one in self.warnings:
            self.assertTrue(one["problem"])
        return {name: {one["what"]: one for one in section} for name, section in sections.items()}

    def warned(self, what):
        return any(one["what"] == what for one in self.warnings)

    def test_this_machine(self):
        found = self.examine()
        self.assertEqual(list(found), ["cpu", "memory", *(["cuda"] if "cuda" in found else []), "files", "network", "use"])
        with open("/proc/cpuinfo") as file:
            self.assertIn(found["cpu"]["model"]["value"], file.read())
        cores = len(os.sched_getaffinity(0))
        self.assertRegex(found["cpu"]["cores"]["value"], rf"^{cores} of {os.cpu_count()}\b")
        self.assertRegex(found["cpu"]["oneDNN"]["value"], r"^[23]\.\d+\.\d+, uses \w")
        self.assertRegex(found["memory"]["memory"]["value"], r"\d GiB available|MiB available")
        self.assertTrue(found["files"]["compiler"]["value"].endswith("/dlc-compile"))
        self.assertEqual(found["files"]["cache"]["value"], f"{self.cache}: 0 entries, 0 B")
        self.assertRegex(found["use"]["launcher"]["value"], "none")
        self.assertEqual(found["use"]["threads"]["value"], f"{cores} a rank")

    def test_text_says_the_same(self):
        found = self.examine()
        with mock.patch.dict(os.environ, {"DLC_CACHE_DIR": self.cache}):
            out, _ = dlc.dlc("doctor", code=dlc.FAILED if self.warnings else dlc.OK)
        for section, findings in found.items():
            self.assertRegex(out, rf"(?m)^{section}$")
            for what in findings:
                self.assertRegex(out, rf"(?m)^  {what} ")
        self.assertRegex(out, r"(nothing|\d+) to fix")

    def test_affinity(self):
        one = min(os.sched_getaffinity(0))
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {one})
        try:
            found = self.examine()
        finally:
            os.sched_setaffinity(0, before)
        self.assertTrue(found["cpu"]["cores"]["value"].startswith("1 of "))
        self.assertEqual(found["use"]["threads"]["value"], "1 a rank")

    def test_quota_of_a_control_group(self):
        group = f"/sys/fs/cgroup/cpu/dlc-doctor-{os.getpid()}"
        try:
            os.mkdir(group)
        except OSError as error:
            self.skipTest(f"no control group can be made: {error}")
        self.addCleanup(os.rmdir, group)
        for name, value in ("cpu.cfs_period_us", 100000), ("cpu.cfs_quota_us", 150000):
            with open(f"{group}/{name}", "w") as file:
                file.write(str(value))
        own = subprocess.run(["cat", "/proc/self/cgroup"], capture_output=True, text=True).stdout
        above = re.search(r"(?m)^\d+:(?:cpu|cpu,.*|.*,cpu):(.*)$", own).group(1)
        self.addCleanup(self.enter, f"/sys/fs/cgroup/cpu{above}")
        self.enter(group)
        found = self.examine()
        self.assertRegex(found["cpu"]["cores"]["value"], "^1 of .*, the control group grants 1.5$")
        self.assertEqual(found["use"]["threads"]["value"], "1 a rank")

    @staticmethod
    def enter(group):
        with open(f"{group}/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))

    def test_cache_that_others_may_write(self):
        os.chmod(self.cache, 0o777)
        found = self.examine(code=dlc.FAILED)
        self.assertTrue(self.warned("cache"))
        self.assertRegex(found["files"]["cache"]["problem"], "others may write.*expected 700")

    def test_no_cache(self):
        self.examine(environment={"DLC_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": ""}, code=dlc.FAILED)
        self.assertTrue(self.warned("cache"))

    def test_few_open_files(self):
        old = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, old[1]))
        try:
            found = self.examine(code=dlc.FAILED)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, old)
        self.assertEqual(found["memory"]["open files"]["value"], "100")
        self.assertRegex(found["memory"]["open files"]["problem"], "ulimit -n")

    def test_no_temporary_folder(self):
        found = self.examine(environment={"TMPDIR": self.path("none")}, code=dlc.FAILED)
        self.assertRegex(found["memory"]["temporary"]["problem"], "none'.*No such file.*TMPDIR")

    def test_launchers(self):
        variables = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        found = self.examine(environment=variables)
        self.assertEqual(found["use"]["rank"]["value"], "1  (RANK)")
        self.assertFalse(self.warned("launcher"))
        del variables["WORLD_SIZE"]
        found = self.examine(environment=variables, code=dlc.FAILED)
        self.assertRegex(found["use"]["launcher"]["problem"], "WORLD_SIZE")


if __name__ == "__main__":
    dlc.main()
