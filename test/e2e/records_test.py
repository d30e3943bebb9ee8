# SPDX-License-Identifier: Apache-2.0
"""What a run writes for other programs and for people: results.svg and results.png, Prometheus' text over HTTP, MLflow's folder."""

import glob
import http.client
import json
import os
import re
import shutil
import socket
import threading
import time
import unittest
import xml.dom.minidom
import zlib

import dlc
import numpy as np


def flat_yaml(text):
    """Of lines "key: value": whole numbers, 'texts' and plain ones."""
    values = dict(line.split(": ", 1) for line in text.splitlines())
    return {key: value[1:-1].replace("''", "'") if value[0] == "'" else int(value) if value.isdigit() else value
            for key, value in values.items()}


class Picture(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def picture(self, run):
        return xml.dom.minidom.parse(os.path.join(run.folder, "results.svg"))

    def heads(self, run):
        return [t.firstChild.data for t in self.picture(run).getElementsByTagName("text") if t.getAttribute("class") == "head"]

    def points(self, run, kind, colour=0):
        """Of the paths of a class, in order: [(x, y)] in the picture."""
        return [[tuple(map(float, pair.split())) for pair in re.split("[ML]", path.getAttribute("d"))[1:]]
                for path in self.picture(run).getElementsByTagName("path") if path.getAttribute("class") == f"{kind} c{colour}"]

    def pixels(self, run):
        """Of results.png, [height, width, 3]."""
        with open(os.path.join(run.folder, "results.png"), "rb") as file:
            content = file.read()
        self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
        chunks, at = {}, 8
        while at < len(content):
            size, kind = int.from_bytes(content[at:at + 4], "big"), content[at + 4:at + 8]
            self.assertEqual(zlib.crc32(content[at + 4:at + 8 + size]), int.from_bytes(content[at + 8 + size:at + 12 + size], "big"))
            chunks[kind], at = content[at + 8:at + 8 + size], at + 12 + size
        width, height = (int.from_bytes(chunks[b"IHDR"][i:i + 4], "big") for i in (0, 4))
        rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
        self.assertFalse(rows[:, 0].any())
        return rows[:, 1:].reshape(height, width, 3)

    def test_pixels_are_those_of_the_svg(self):
        """Two pixels for one: lines in their colours, where the SVG has them, and letters where its texts are."""
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), val=dlc.data("digits-test"), epochs=3, quiet=True)
        pixels, svg = self.pixels(run).astype(int), self.picture(run).documentElement
        self.assertEqual(pixels.shape[1::-1], tuple(2 * int(svg.getAttribute(side)) for side in ("width", "height")))
        for colour, ink in (0, (0x00, 0x72, 0xb2)), (1, (0xd5, 0x5e, 0x00)):
            for line in self.points(run, "line", colour):
                far = [np.abs(pixels[int(2 * y), int(2 * x)] - ink).max() for x, y in line if 2 * x < pixels.shape[1] - 1]
                self.assertLess(np.median(far), 40, f"colour {colour}")
        for text in svg.getElementsByTagName("text"):
            if text.getAttribute("class") == "head":
                x, y = (int(2 * float(text.getAttribute(side))) for side in "xy")
                box = pixels[y - 20:y, x:x + 30]
                self.assertGreater((box.max(axis=2) < 100).sum(), 30, text.firstChild.data)
        self.assertGreater((pixels == 255).all(axis=2).mean(), 0.8)

    def test_has_the_run_so_far(self):
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), val=dlc.data("digits-test"), epochs=3, metrics="f1", quiet=True)
        self.assertEqual(self.heads(run)[1:], ["loss", "lr", "accuracy", "f1"])
        (losses, *_), expected = self.points(run, "thin"), run.metrics("loss")
        self.assertEqual(len(losses), len(expected))
        x, y = np.array(losses).T
        np.testing.assert_allclose(np.diff(x), np.diff(x).mean(), atol=0.11)
        line = np.polyfit(y, expected, 1)  # pixels are a linear function of the loss
        np.testing.assert_allclose(np.polyval(line, y), expected, atol=0.01 * np.ptp(expected))
        validated = np.array(self.points(run, "line", 1)[0])
        with open(os.path.join(run.folder, "epochs.jsonl")) as file:
            found = [json.loads(line)["val_loss"] for line in file]
        np.testing.assert_allclose(np.polyval(line, validated[:, 1]), found, atol=0.01 * np.ptp(expected))

    def test_goes_on_with_a_run_that_is_resumed(self):
        options = dict(data=dlc.data("digits-train"), val=dlc.data("digits-test"), quiet=True, save_every=20)
        whole = dlc.train(self.artifact, options.pop("data"), self.path("whole"), epochs=2, **options)
        dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), epochs=2, **options)
        for step in (186, 180):
            shutil.rmtree(self.path(f"run/checkpoint-{step}"))
        os.remove(self.path("run/results.svg"))
        dlc.dlc("train", resume=self.path("run"), quiet=True)
        self.assertEqual(self.points(dlc.Run(self.path("run")), "thin"), self.points(whole, "thin"))

    def test_hostile_names_and_long_runs(self):
        folder = self.path("<b>&\"' \u202e")
        dlc.train(self.artifact, dlc.data("digits-train"), folder, steps=2, quiet=True)
        run = dlc.Run(folder)
        self.assertIn("<b>&\"'", self.heads(run)[0])
        self.assertNotIn("\u202e", self.heads(run)[0])
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("long"), steps=5000, save_every=4990, quiet=True)
        lines = self.points(run, "thin")
        self.assertTrue(all(50 < len(line) <= 1001 for line in lines), [len(line) for line in lines])


class Port(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def start(self, *words, **options):
        """A long run and its port."""
        process = dlc.start("train", self.artifact, *words, data=dlc.data("digits-train"), run=self.path("run"), epochs=10**6, save_every=10**9,
                            metrics_port=0, **options)
        self.addCleanup(dlc.kill, process)
        for line in process.stderr:
            if found := re.search(r"metrics: http://(127\.0\.0\.1):(\d+)/metrics$", line.rstrip()):
                threading.Thread(target=process.stderr.read, daemon=True).start()
                return process, (found[1], int(found[2]))
        self.fail("no port was printed")

    def ask(self, place, request=b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
        """(status, headers, body)"""
        with socket.create_connection(place, timeout=20) as connection:
            connection.sendall(request)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        return int(lines[0].split()[1]), dict(line.split(": ") for line in lines[1:]), body.decode()

    def value(self, text, name):
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])

    def until(self, place, condition):
        end = time.monotonic() + 60
        while not condition(text := self.ask(place)[2]):
            self.assertLess(time.monotonic(), end, text)
            time.sleep(0.1)
        return text

    def test_answers_while_it_trains(self):
        process, place = self.start(val=dlc.data("digits-test"))
        label = f'{{run="{self.path("run")}"'
        text = self.until(place, lambda text: "val_loss" in text and self.value(text, f"dlc_step{label}}}") > 100)
        steps = self.value(text, f"dlc_step{label}}}")
        self.assertEqual(self.value(text, f"dlc_samples_total{label}}}"), 16 * steps)
        self.assertEqual(self.value(text, f"dlc_step_seconds_count{label}}}"), steps)
        buckets = [float(n) for n in re.findall(r"^dlc_step_seconds_bucket\{.*\} (\S+)$", text, re.MULTILINE)]
        self.assertEqual((buckets, buckets[-1]), (sorted(buckets), steps))
        self.assertGreater(self.value(text, f"dlc_step_seconds_sum{label}}}"), 0)
        self.assertGreater(self.value(text, f'dlc_train{label},metric="loss"}}'), 0)
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) dlc_\w+ .+|dlc_\w+\{run="[^"]*"(,(metric|le)="[^"]*")?\} [-+\w.]+)$')
        connection = http.client.HTTPConnection(*place, timeout=20)
        connection.request("HEAD", "/metrics?x=1")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()), (200, b""))
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertGreater(int(answer.headers["Content-Length"]), 500)
        process.terminate()
        self.assertEqual(dlc.finish(process)[0], 128 + 15)
        with self.assertRaises(OSError):
            socket.create_connection(place, timeout=5).close()

    def test_what_it_refuses(self):
        _, place = self.start()
        for request, status in [(b"GET / HTTP/1.1\r\n\r\n", 404), (b"GET /metrics/.. HTTP/1.0\n\n", 404), (b"POST /metrics HTTP/1.1\r\n\r\n", 405),
                                (b"\r\n\r\n", 400), (b"\0" * 4096 + b"\n\n", 400), (b"GET /metrics\n\n", 400),
                                (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 9000, 431)]:
            self.assertEqual(self.ask(place, request)[0], status, request[:40])
        self.assertEqual(self.ask(place)[0], 200)

    def test_hostile_clients_do_not_disturb_training(self):
        process, place = self.start()
        slow = [socket.create_connection(place, timeout=20) for _ in range(40)]  # 24 of them are turned away
        for connection in slow:
            try:
                connection.sendall(b"GET /metrics HTTP/1.1\r\nX")
            except OSError:
                pass
        stop = threading.Event()

        def flood():
            while not stop.is_set():
                try:
                    with socket.create_connection(place, timeout=2) as connection:
                        connection.sendall(os.urandom(1 << 20))
                except OSError:
                    pass
        threads = [threading.Thread(target=flood) for _ in range(2)]
        for thread in threads:
            thread.start()
        name = f'dlc_step{{run="{self.path("run")}"}}'
        try:
            before = self.value(self.until(place, lambda text: name in text), name)
            self.until(place, lambda text: name in text and self.value(text, name) > before + 200)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertIsNone(process.poll())
        with open(f"/proc/{process.pid}/status") as file:
            before = int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])
        self.assertLess(before, 1 << 20)  # KiB: what they sent is not kept
        self.assertLessEqual(len(os.listdir(f"/proc/{process.pid}/fd")), 60)
        for connection in slow:
            connection.close()

    def test_errors(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            _, err = dlc.dlc("train", self.artifact, data=dlc.data("digits-train"), run=self.path("a"), steps=1, metrics_port=port, code=dlc.FAILED)
            self.assertIn(f"--metrics-port: rank 0 cannot listen on 127.0.0.1:{port}: Address already in use", err)
        for options, message in [(dict(metrics_host="example.org", metrics_port=0), "--metrics-host: expected an IPv4 address of this machine"),
                                 (dict(metrics_host="127.0.0.1"), "--metrics-host needs --metrics-port"),
                                 (dict(metrics_port=65536), "--metrics-port")]:
            _, err = dlc.dlc("train", self.artifact, data=dlc.data("digits-train"), run=self.path("b"), steps=1, code=dlc.USAGE, **options)
            self.assertIn(message, err)


class Mlflow(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def read(self, *path):
        with open(os.path.join(self.store, *path)) as file:
            return file.read()

    def found(self):
        """The run's folder and its meta.yaml."""
        self.store = self.path("mlruns")
        run, = glob.glob(os.path.join(self.store, "0", "*", "meta.yaml"))
        return os.path.dirname(run), flat_yaml(self.read(run))

    def series(self, run, key):
        lines = [line.split(" ") for line in self.read(run, "metrics", key).splitlines()]
        self.assertTrue(all(int(ms) > 1.5e12 for ms, _, _ in lines))
        return [int(step) for _, _, step in lines], [float(value) for _, value, _ in lines]

    def test_says_what_the_run_said(self):
        """Also when it was killed, and steps are done again."""
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("it's a: run"), val=dlc.data("digits-test"), epochs=2, save_every=60,
                        mlflow=self.path("mlruns"), quiet=True)
        folder, meta = self.found()
        experiment = flat_yaml(self.read("0", "meta.yaml"))
        self.assertEqual((experiment["name"], experiment["experiment_id"], experiment["lifecycle_stage"]), ("Default", "0", "active"))
        self.assertEqual(meta["artifact_uri"], f"file://{folder}/artifacts")
        self.assertEqual((meta["run_id"], meta["run_uuid"], meta["run_name"], meta["status"], meta["lifecycle_stage"]),
                         (os.path.basename(folder),) * 2 + ("it's a: run", 3, "active"))
        self.assertGreater(meta["end_time"], meta["start_time"])
        for step in (186, 180):
            shutil.rmtree(os.path.join(run.folder, f"checkpoint-{step}"))
        dlc.dlc("train", resume=run.folder, epochs=3, quiet=True)
        again, later = self.found()
        self.assertEqual((again, later["start_time"]), (folder, meta["start_time"]))
        self.assertEqual(self.series(folder, "loss"), (list(range(1, 280)), run.metrics("loss").tolist()))
        self.assertEqual(self.series(folder, "val_loss")[0], [93, 186, 279])
        self.assertEqual(self.read(folder, "params", "run.epochs"), "3")
        self.assertEqual(self.read(folder, "params", "train.optimizer"), "sgd")
        self.assertEqual(self.read(folder, "tags", "mlflow.runName"), "it's a: run")

    def test_a_run_that_fails_and_a_folder_that_cannot_be(self):
        shutil.copy(dlc.data("digits-train"), self.path("x.npz"))
        with np.load(self.path("x.npz")) as data:
            x, y = data["x"].astype(np.float32), data["y"]
        x[:] = np.nan
        np.savez(self.path("x.npz"), x=x, y=y)
        dlc.dlc("train", self.artifact, data=self.path("x.npz"), run=self.path("run"), steps=5, mlflow=self.path("mlruns"), quiet=True, code=dlc.DIVERGED)
        self.assertEqual(self.found()[1]["status"], 4)
        _, err = dlc.dlc("train", self.artifact, data=dlc.data("digits-train"), run=self.path("b"), steps=1, mlflow="/proc/no", code=dlc.FAILED)
        self.assertIn("/proc/no", err)

    def test_is_read_by_mlflow(self):
        try:
            from mlflow.tracking import MlflowClient
        except ImportError:
            self.skipTest("there is no mlflow")
        dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), val=dlc.data("digits-test"), epochs=1, mlflow=self.path("mlruns"), quiet=True)
        client = MlflowClient(self.path("mlruns"))
        run, = client.search_runs(["0"])
        self.assertEqual((run.info.run_name, run.info.status), ("run", "FINISHED"))
        self.assertEqual(len(client.get_metric_history(run.info.run_id, "loss")), 93)


if __name__ == "__main__":
    unittest.main(verbosity=2)
