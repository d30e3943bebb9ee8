# SPDX-License-Identifier: Apache-2.0
"""The package's classes: what they take, give and refuse."""

import wheel

wheel.enter()

import ctypes
import gc
import os
import signal
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import dlc
import numpy as np
import onnx

TRAIN, TEST = (f"{wheel.MODELS}/digits-{part}.npz" for part in ("train", "test"))


class Producer:
    """An array as another library gives it: DLPack and nothing else, `versioned` or as of before that."""

    def __init__(self, array, versioned):
        self._array, self._versioned = array, versioned

    def __dlpack__(self, *, stream=None, **options):
        if not self._versioned and options:
            raise TypeError("unexpected keyword arguments")
        return self._array.__dlpack__(stream=stream, **options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnGpu(Producer):
    """Says that its memory is a GPU's."""

    device = "cuda:0"

    def __dlpack__(self, **options):
        capsule = self._array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        device_type = ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8)
        device_type.value = 2
        return capsule


def arrays(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


class Interface(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="dlc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        dlc.set_log(lambda level, line: None)
        cls.artifact = dlc.compile(f"{wheel.MODELS}/mlp.onnx", f"{cls.folder}/mlp.dlc", batch=16, optimizer="adamw", lr=0.003)
        cls.train = arrays(TRAIN)

    def setUp(self):
        self.run_folder = tempfile.mkdtemp(prefix="run-", dir=self.folder) + "/run"

    def batch(self, first=0):
        return np.float32(self.train["x"][first:first + 16]) / self.train["x"].max(), self.train["y"][first:first + 16]

    def trainer(self, **options):
        given = {"data": TRAIN, "epochs": 1, "run": self.run_folder, "quiet": True, **options}
        return dlc.Trainer(self.artifact, **given)

    def refused(self, kind, words, call):
        with self.assertRaisesRegex(kind, words) as caught:
            call()
        return caught.exception

    def test_errors_are_classes_named_as_the_exit_codes(self):
        with open(f"{self.folder}/bad.onnx", "wb") as file:
            file.write(b"no model")
        error = self.refused(dlc.BadModel, "bad.onnx", lambda: dlc.compile(f"{self.folder}/bad.onnx", f"{self.folder}/bad.dlc"))
        self.assertEqual(error.code, 3)
        self.refused(dlc.BadModel, "", lambda: dlc.compile(b"no model", f"{self.folder}/bad.dlc"))
        self.refused(dlc.UsageError, "no option 'thread'; did you mean 'threads'", lambda: dlc.Session(self.artifact, thread=1))
        self.refused(dlc.UsageError, "'lr' is an option of dlc.compile", lambda: dlc.Trainer(self.artifact, data=TRAIN, lr=0.1))
        self.refused(dlc.UsageError, "no option 'batch_size'; did you mean 'batch'", lambda: dlc.Trainer(self.artifact, batch_size=2))
        error = self.refused(dlc.UsageError, "lr_steps", lambda: self.trainer(lr_steps=5).run())
        self.assertNotIn("--", str(error))
        error = self.refused(dlc.LimitExceeded, "use a smaller batch=, with more of accumulate=",
                             lambda: dlc.compile(f"{wheel.MODELS}/lenet.onnx", f"{self.folder}/x.dlc", memory="1MiB"))
        self.assertNotIn("--", str(error))
        self.assertIn("--to", str(dlc.UsageError("try dlc export run --to=x")))  # a command line stays one
        self.refused(dlc.UsageError, r"unknown flag 'lrr='; did you mean 'lr='\?$", lambda: dlc.compile(f"{wheel.MODELS}/mlp.onnx", f"{self.folder}/x.dlc", lrr=1))
        self.refused(ValueError, "option 'threads' is a object", lambda: dlc.Session(self.artifact, threads=object()))
        self.refused(dlc.Failed, "none.dlc", lambda: dlc.Session(f"{self.folder}/none.dlc"))
        self.refused(dlc.UsageError, "a model is a path, bytes or an onnx.ModelProto, found int",
                     lambda: dlc.compile(7, f"{self.folder}/x.dlc"))
        damaged = shutil.copytree(self.artifact, f"{self.folder}/damaged.dlc")
        with open(f"{damaged}/plan.pb", "r+b") as file:
            file.write(b"damage")
        self.refused(dlc.Corrupt, "plan.pb", lambda: dlc.Session(damaged))
        self.assertTrue(issubclass(dlc.LimitExceeded, MemoryError) and issubclass(dlc.PeerLost, dlc.Error))
        self.assertEqual([kind.code for kind in (dlc.Failed, dlc.Incompatible, dlc.LimitExceeded, dlc.PeerLost, dlc.Diverged)],
                         [1, 5, 6, 7, 8])

    def test_models_as_bytes_and_as_messages(self):
        with open(f"{wheel.MODELS}/mlp.onnx", "rb") as file:
            model = file.read()
        for form in (model, onnx.load_from_string(model)):
            made = dlc.compile(form, f"{self.folder}/form.dlc", betas=[0.9, 0.99], optimizer="adam", ema=True,
                               lr_scale=["f1:0.5", "f2:0.1"], cycle_momentum=None)
            self.assertEqual(dlc.Session(made).inputs()[0].shape[1:], (1, 8, 8))

    def test_steps(self):
        session = dlc.Session(self.artifact, threads=1)
        self.assertEqual([port.dtype for port in session.inputs()], ["float32", "int64"])
        x, y = self.batch()
        first = session.train_step(x, y)
        self.assertAlmostEqual(first, np.log(10), delta=0.5)
        names = [port.name for port in session.inputs()]
        losses = session.train(({names[0]: x, names[1]: y} for _ in range(30)))
        self.assertEqual(len(losses), 30)
        self.assertLess(losses[-1], first / 2)
        self.assertEqual(session.metric("loss"), losses[-1])
        seen = []
        session.train(((x, y) for _ in range(9)), on_update=lambda loss: seen.append(loss) or len(seen) < 3)
        self.assertEqual(len(seen), 3)
        self.refused(dlc.UsageError, "no metric 'los'; did you mean 'loss'", lambda: session.metric("los"))

    def test_schedules_without_a_length(self):
        """A run has one; steps alone would soon have the last rate, which may be 0."""
        for options, state in (dict(schedule="cosine"), "schedule.steps"), (dict(schedule="step", decay_steps=2, schedule_per="epoch"), "schedule.epoch_steps"):
            artifact = dlc.compile(f"{wheel.MODELS}/mlp.onnx", f"{self.run_folder}.dlc", batch=16, **options)
            session = dlc.Session(artifact, threads=1)
            self.refused(dlc.UsageError, f"schedule has no length; .*write the state '{state}'", lambda: session.train_step(*self.batch()))
            session.state[state] = np.int64(100)
            for _ in range(5):
                session.train_step(*self.batch())
            self.assertGreater(session.metric("lr"), 0.009)
        timed = dlc.compile(f"{wheel.MODELS}/mlp.onnx", f"{self.run_folder}.dlc", batch=16, schedule="cosine", steps=50)
        dlc.Session(timed, threads=1).train_step(*self.batch())

    def test_batches_are_not_copied(self):
        x, y = self.batch()
        self.assertEqual(dlc._dlc.address(x), x.ctypes.data)
        for versioned in (False, True):
            given = Producer(x.copy(), versioned)
            self.assertEqual(dlc._dlc.address(given), given._array.ctypes.data)
            self.assertIsNotNone(dlc.Session(self.artifact).train_step(given, Producer(y.copy(), versioned)))
        fixed = x.copy()
        fixed.flags.writeable = False
        self.assertEqual(dlc._dlc.address(fixed), fixed.ctypes.data)
        # A data set sees what is written to its arrays later, and holds them.
        session, held = dlc.Session(self.artifact), {"x": self.train["x"].copy(), "y": self.train["y"].copy()}
        before = session.evaluate(self.train)
        samples = dlc.Dataset({"x": Producer(held["x"], True), "y": held["y"]})
        self.assertEqual(session.evaluate(samples), before)
        held["x"][:] = 0
        self.assertNotEqual(session.evaluate(samples).loss, before.loss)
        del held
        gc.collect()
        self.assertEqual(session.evaluate(samples).samples, before.samples)

    def test_what_a_batch_cannot_be(self):
        session, (x, y) = dlc.Session(self.artifact), self.batch()
        for array, words in ((x.astype(np.float64), "is f64 .*expected f32"), (x[:8], r"\[8, 1, 8, 8\], expected f32 \[16"),
                             (np.repeat(x, 2, -1)[..., ::2], "has gaps or another order .*ascontiguousarray"),
                             (x.astype(np.int16), "has dtype int16"), ([1.0], "is no array .*found list"),
                             (None, "found NoneType")):
            self.refused(dlc.UsageError, words, lambda: session.train_step(array, y))
        self.refused(dlc.UsageError, r"array '\w+' is on the device cuda:0: .*\.cpu\(\)",
                     lambda: session.train_step(OnGpu(x, False), y))
        self.refused(dlc.UsageError, "takes input, .*found x", lambda: session.train_step(x=x, y=y))
        self.refused(dlc.UsageError, "takes 2 inputs, found 1", lambda: session.train_step(x))
        self.refused(dlc.UsageError, "samples are a dlc.Dataset", lambda: session.evaluate(7))

    def test_predictions(self):
        session, (x, _) = dlc.Session(self.artifact), self.batch()
        found, = session.predict(x[:5]).values()
        self.assertEqual(found.shape, (5, 10))
        again, = session.predict({"x": x[:5]}).values()
        np.testing.assert_array_equal(found, again)

    def test_state_by_name(self):
        session = dlc.Session(self.artifact)
        self.assertIn("f1.weight", session.state)
        weight = session.state["f1.weight"]
        self.assertEqual(weight.shape, session.state.port("f1.weight").shape)
        session.state["f1.weight"] = weight * 2
        np.testing.assert_array_equal(session.state["f1.weight"], weight * 2)
        session.save(f"{self.folder}/state.safetensors")
        session.state["f1.weight"] = weight
        session.load(f"{self.folder}/state.safetensors")
        np.testing.assert_array_equal(session.state["f1.weight"], weight * 2)
        self.refused(KeyError, "f9", lambda: session.state["f9"])
        self.refused(dlc.UsageError, r"state 'f1.bias' is float32 \[48\], found float32 \[48, 64\]", lambda: session.state.__setitem__("f1.bias", weight))
        self.refused(TypeError, "not deleted", lambda: session.state.__delitem__("f1.bias"))
        self.assertEqual(len(session.state), len(list(session.state)))

    def test_callbacks_see_and_end_a_run(self):
        steps, epochs = [], []
        run = self.trainer(val=arrays(TEST), epochs=2, on_step=steps.append, on_epoch=epochs.append).run()
        self.assertEqual((run.steps, run.stopped), (len(steps), False))
        self.assertEqual([step.step for step in steps], list(range(1, run.steps + 1)))
        self.assertLess(steps[-1].metrics["loss"], steps[0].metrics["loss"])
        self.assertEqual([epoch.epoch for epoch in epochs], [1, 2])
        self.assertEqual(run.history["epoch"], [1, 2])
        self.assertEqual(run.history["val_loss"], [epoch.metrics["val_loss"] for epoch in epochs])
        half = len(steps) // 2
        self.assertAlmostEqual(run.history["train_loss"][1], np.mean([step.metrics["loss"] for step in steps[half:]]), places=5)
        self.assertAlmostEqual(dlc.Session(run.folder).evaluate(TEST).loss, epochs[-1].metrics["val_loss"])
        self.run_folder += "2"
        run = self.trainer(on_step=lambda step: step.step < 3).run()
        self.assertEqual((run.steps, run.stopped), (3, True))
        self.run_folder += "3"
        trainer = self.trainer(on_step=lambda step: trainer.stop() if step.step == 2 else None)
        self.assertEqual(trainer.run().steps, 2)
        self.refused(dlc.UsageError, "runs once", trainer.run)
        resumed = dlc.Trainer(resume=self.run_folder, steps=5, quiet=True).run()
        self.assertEqual(resumed.steps, 5)

    def test_what_a_callback_raises_comes_out(self):
        def broken(step):
            raise LookupError("mine")

        self.refused(LookupError, "mine", self.trainer(on_step=broken).run)

    def test_what_objects_say_of_themselves(self):
        session = dlc.Session(self.artifact)
        self.assertEqual(repr(session), f"dlc.Session({self.artifact!r}): input float32 [16, 1, 8, 8]")
        self.assertRegex(repr(session.state), r"^dlc\.State\(f1\.weight, f1\.bias, .*, \.\.\.\)$")
        self.assertEqual(repr(dlc.Dataset({"x": self.train["x"], "y": self.train["y"]})),
                         f"dlc.Dataset(x {list(self.train['x'].shape)}, y {list(self.train['y'].shape)})")
        self.assertEqual(repr(dlc.Dataset.open(TRAIN)), f"dlc.Dataset({TRAIN!r})")
        self.assertEqual(repr(dlc.Dataset.rows([{"x": np.zeros(3, np.float32)}] * 2)), "dlc.Dataset(x float32 [2, 3])")
        self.assertIn("epochs=1", repr(self.trainer()))
        self.run_folder += "2"
        self.assertEqual(repr(self.trainer(steps=1, epochs=None).run()),
                         f"Run(folder={self.run_folder!r}, steps=1, stopped=False, signal=0)")

    def test_a_report(self):
        run = self.trainer().run()
        self.assertEqual(run.report(f"{self.run_folder}.html"), f"{self.run_folder}.html")
        self.assertGreater(os.path.getsize(f"{self.run_folder}.html"), 100_000)
        shutil.rmtree(run.folder)
        error = self.refused(dlc.Failed, "no run ", lambda: run.report(f"{self.run_folder}.html"))
        self.assertEqual(str(error), f"no run '{run.folder}': no such folder")

    def test_the_models_of_the_guide(self):
        self.assertTrue(os.path.exists(f"{dlc.SAMPLES}/lenet.onnx"))

    def test_columns_of_pandas(self):
        """Of what has to_numpy(), as frames and series have."""
        class Frame:
            columns = ()

            def __init__(self, array):
                self._array = array

            def to_numpy(self):
                return self._array

        x, y = self.train["x"].astype(np.float32), self.train["y"]
        session = dlc.Session(self.artifact)
        given = session.evaluate({"x": Frame(np.asfortranarray(x.astype(np.float64))), "y": Frame(y)})
        self.assertEqual(given, session.evaluate({"x": x, "y": y}))
        np.testing.assert_array_equal(session.predict(Frame(x))["logits"], session.predict(x)["logits"])
        self.refused(dlc.UsageError, r'found Frame; of a frame: \{"x": frame\[', lambda: session.evaluate(Frame(x)))
        self.refused(dlc.UsageError, r"'y' has columns that are no numbers \(object\): .*cat\.codes",
                     lambda: dlc.Dataset({"x": x, "y": Frame(y.astype(object))}))

    def test_rows_that_python_makes(self):
        rows = [{"x": x, "y": y} for x, y in zip(self.train["x"], self.train["y"])]
        session = dlc.Session(self.artifact)
        self.assertEqual(session.evaluate(dlc.Dataset.rows(rows)), session.evaluate(self.train))
        run = self.trainer(data=dlc.Dataset.rows(rows.__getitem__, len(rows), "digits")).run()
        plain = run.folder + "2"
        dlc.Trainer(self.artifact, data=TRAIN, epochs=1, run=plain, quiet=True).run()
        np.testing.assert_array_equal(dlc.Session(run.folder).state["f1.weight"], dlc.Session(plain).state["f1.weight"])

        def broken(number):
            if number == 40:
                raise LookupError("sample 40 is mine")
            return rows[number]

        self.refused(LookupError, "is mine", lambda: session.evaluate(dlc.Dataset.rows(broken, len(rows))))
        self.run_folder += "3"
        self.refused(LookupError, "is mine", lambda: self.trainer(data=dlc.Dataset.rows(broken, len(rows))).run())
        self.refused(dlc.UsageError, "needs samples", lambda: dlc.Dataset.rows([]))

    def test_ctrl_c_ends_a_run_with_a_checkpoint(self):
        def press(step):
            if step.step == 20:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            self.trainer(epochs=2000, on_step=press).run()
        steps = dlc.Trainer(resume=self.run_folder, steps=1, quiet=True).run().steps
        self.assertGreaterEqual(steps, 20)
        self.assertLess(steps, 20000)

    def test_ctrl_c_ends_an_evaluation(self):
        many = {name: np.repeat(array, 400, 0) for name, array in self.train.items()}
        session, samples = dlc.Session(self.artifact), dlc.Dataset(many)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                session.evaluate(samples)
        self.assertEqual(session.evaluate(TEST).samples, len(arrays(TEST)["y"]))

    def test_ctrl_c_ends_the_compiler(self):
        program = f"""import dlc
print("begins", flush=True)
while True:
    dlc.compile("{wheel.MODELS}/resnet8.onnx", "{self.folder}/interrupted.dlc", quiet=True)"""
        process = subprocess.Popen([sys.executable, "-c", program], start_new_session=True, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate(timeout=60)
        self.assertTrue(said.rstrip().endswith("KeyboardInterrupt"), said)

    def test_ranks_that_a_library_starts(self):
        """Each process says its rank; weights are those of dlc's own ranks, bit for bit."""
        artifact = dlc.compile(f"{wheel.MODELS}/mlp.onnx", f"{self.run_folder}.dlc", batch=16, ddp=2)
        program = f"""import dlc, sys
dlc.Trainer({artifact!r}, data={TRAIN!r}, steps=6, threads=1, quiet=True, run={self.run_folder!r}, rank=int(sys.argv[1]), world_size=2,
            init="file://{self.run_folder}-meet").run()"""
        ranks = [subprocess.Popen([sys.executable, "-c", program, str(rank)]) for rank in range(2)]
        self.assertEqual([rank.wait(60) for rank in ranks], [0, 0])
        subprocess.run([f"{wheel.BUILD}/bin/dlc", "train", artifact, f"--data={TRAIN}", "--steps=6", "--threads=1", "--quiet",
                        f"--run={self.run_folder}-own"], check=True, stdout=subprocess.DEVNULL)
        found = []
        for run in self.run_folder, self.run_folder + "-own":
            with open(f"{run}/checkpoint-6/state.safetensors", "rb") as file:
                found.append(file.read())
        self.assertEqual(found[0], found[1])

    def test_other_threads_go_on(self):
        stops, count = threading.Event(), [0]

        def work():
            while not stops.is_set():
                count[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=work)
        trainer = self.trainer(epochs=40)
        thread.start()
        began = time.monotonic()
        trainer.run()
        lasted, counted = time.monotonic() - began, count[0]
        stops.set()
        thread.join()
        self.assertGreater(counted, 50 * lasted)

    def test_a_daemon_thread_at_exit(self):
        """Python ends threads that wait for its lock, which must not end the process by a signal."""
        program = f"""import dlc, threading
steps = threading.Semaphore(0)
trainer = dlc.Trainer({self.artifact!r}, data={TRAIN!r}, steps=10**8, quiet=True, run={self.run_folder!r},
                      on_step=lambda step: steps.release())
threading.Thread(target=trainer.run, daemon=True).start()
for _ in range(20): steps.acquire()"""
        ended = subprocess.run([sys.executable, "-c", program], timeout=60, text=True, stderr=subprocess.PIPE)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_one_call_at_a_time(self):
        many = {name: np.repeat(array, 50, 0) for name, array in self.train.items()}
        session, refused = dlc.Session(self.artifact), []
        samples, x = dlc.Dataset(many), self.batch()
        thread = threading.Thread(target=lambda: [session.evaluate(samples) for _ in range(3)])
        thread.start()
        while thread.is_alive():
            try:
                session.train_step(*x)
            except dlc.UsageError as error:
                refused.append(str(error))
        thread.join()
        self.assertIn("in use by another call", refused[0])

    def test_messages(self):
        lines = []
        dlc.set_log(lambda level, line: lines.append((level, line)))
        self.addCleanup(dlc.set_log, lambda level, line: None)
        self.trainer(quiet=False).run()
        self.assertTrue(any(level == 3 and line.startswith("epoch 1/1  step ") for level, line in lines), lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)
