# SPDX-License-Identifier: Apache-2.0
"""Links in place of what a run's folder holds: a run that goes on changes nothing outside of it."""

import os
import shutil
import subprocess

import dlc


class RunLinks(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        artifact = dlc.compile(dlc.model("mlp"), os.path.join(cls.shared, "m.dlc"), batch=16, stats=True)
        cls.whole = dlc.train(artifact, dlc.data("digits-train"), os.path.join(cls.shared, "whole"), val=dlc.data("digits-test"), steps=160, save_every=40,
                              keep=9, best="loss", profile=True, tensorboard=True, metrics="f1", quiet=True)
        cls.names = sorted(name for name in os.listdir(cls.whole.folder) if name != "best")

    def begun(self):
        """A copy of the run as if it had been killed after step 100: what is there of later steps is cut on resume."""
        run = self.path("run")
        shutil.rmtree(run, ignore_errors=True)
        shutil.rmtree(self.path("outside"), ignore_errors=True)
        os.mkdir(self.path("outside"))
        shutil.copytree(self.whole.folder, run, symlinks=True)
        for step in (120, 160):
            shutil.rmtree(f"{run}/checkpoint-{step}")
        os.remove(f"{run}/best")
        return run

    def contents(self):
        found = {}
        for folder, _, names in os.walk(self.path("outside")):
            found[folder] = None
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    found[os.path.join(folder, name)] = file.read()
        return found

    def resume(self, run):
        done = subprocess.run([dlc.DLC, "train", f"--resume={run}", "--quiet"], capture_output=True, text=True, timeout=120)
        self.assertIn(done.returncode, (dlc.OK, dlc.FAILED), done.stderr)
        return done

    def test_the_names(self):
        """The test below is of all that a run makes."""
        self.assertLessEqual({"metrics.jsonl", "epochs.jsonl", "stats.jsonl", "results.csv", "classes.json", "profile.json", "trace.json", "tensorboard",
                              "lock", "config.yaml", "model.dlc", "checkpoint-40"}, set(self.names))

    def test_to_what_is_there(self):
        for name in self.names:
            with self.subTest(name):
                run, outside = self.begun(), self.path("outside/" + name)
                if not os.path.exists(f"{run}/{name}"):
                    continue
                shutil.move(f"{run}/{name}", outside)
                os.symlink(outside, f"{run}/{name}")
                before = self.contents()
                done = self.resume(run)
                self.assertEqual(self.contents(), before)
                if name in ("metrics.jsonl", "epochs.jsonl", "stats.jsonl", "results.csv", "tensorboard"):
                    self.assertEqual(done.returncode, dlc.FAILED)
                    self.assertRegex(done.stderr, f"{name}' (exists and )?is a symbolic link, expected a {'folder' if name == 'tensorboard' else 'file'}")

    def test_to_nothing(self):
        for name in self.names:
            with self.subTest(name):
                run = self.begun()
                if os.path.isdir(f"{run}/{name}"):
                    shutil.rmtree(f"{run}/{name}")
                elif os.path.exists(f"{run}/{name}"):
                    os.remove(f"{run}/{name}")
                os.symlink(self.path("outside/" + name), f"{run}/{name}")
                subprocess.run([dlc.DLC, "train", f"--resume={run}", "--quiet"], capture_output=True, timeout=120)
                self.assertEqual(os.listdir(self.path("outside")), [])

    def test_second_names(self):
        """As of `cp -al`: the run goes on, and the copy stays as it is."""
        run = self.begun()
        os.rmdir(self.path("outside"))
        shutil.copytree(run, self.path("outside"), copy_function=os.link, symlinks=True)
        before = self.contents()
        self.assertEqual(self.resume(run).returncode, dlc.OK)
        self.assertEqual(self.contents(), before)
        self.assertEqual(dlc.Run(run).state(160).keys(), self.whole.state(160).keys())


if __name__ == "__main__":
    dlc.main()
