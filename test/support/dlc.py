# SPDX-License-Identifier: Apache-2.0
"""What the Python tests share: the built tool, its runs, and the models and references.

ctest sets DLC_BUILD; by hand:  PYTHONPATH=test/support .venv/bin/python test/e2e/refs_test.py -v
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import numpy as np

import orphans

orphans.watch()

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("DLC_BUILD", os.path.join(ROOT, "build"))
DLC = os.path.join(BUILD, "bin", "dlc")
DLC_DATA = os.path.join(BUILD, "bin", "dlc-data")
MODELS = os.path.join(ROOT, "models")
REFS = os.path.join(ROOT, "test", "refs")

# Caches of runs are not shared between tests, but for the objects of kernels, whose names are hashes of LLVM's input.
if "DLC_CACHE_DIR" not in os.environ:
    CACHE = tempfile.TemporaryDirectory(prefix="dlc-cache-")
    os.environ["DLC_CACHE_DIR"] = CACHE.name
    OBJECTS = os.path.join(BUILD, "test", "objects")
    os.makedirs(OBJECTS, exist_ok=True)
    os.symlink(OBJECTS, os.path.join(CACHE.name, "objects"))

# Only test/gpu uses a GPU of this machine: elsewhere --target=auto is the CPU.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

# Exit codes of the tool.
OK, FAILED, USAGE, BAD_MODEL, CORRUPT, INCOMPATIBLE, LIMIT, PEER_LOST, DIVERGED = range(9)

CONSTANT_SGD = dict(loss="cross_entropy", optimizer="sgd", schedule="constant")


def write_manifest(path, manifest):
    """Writes the manifest like the runtime, with the hash of its contents."""
    manifest.pop("hash", None)
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    manifest["hash"] = hashlib.sha256(text.encode()).hexdigest()
    with open(path, "w") as file:
        file.write(json.dumps(manifest, sort_keys=True, indent=2, ensure_ascii=False) + "\n")


def rehash(folder, **fields):
    """Updates the manifest of a folder whose files were changed, and sets these fields; returns its hash."""
    path = os.path.join(folder, "manifest.json")
    with open(path) as file:
        manifest = json.load(file) | fields
    for name in manifest["files"]:
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        manifest["files"][name] = {"size": len(content), "hash": hashlib.sha256(content).hexdigest()}
    write_manifest(path, manifest)
    return manifest["hash"]


def flip(path, offset=None):
    """Flips a bit of the byte at `offset`, by default the middle one."""
    with open(path, "r+b") as file:
        offset = os.path.getsize(path) // 2 if offset is None else offset
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))


def model(name):
    return os.path.join(MODELS, name + ".onnx")


def data(name):
    return os.path.join(MODELS, name + ".npz")


def flags(options):
    """weight_decay=1e-4 -> --weight-decay=0.0001; True -> the bare flag; None and False -> nothing."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words.append(f"{flag}={value}")
    return words


def start(*words, **options):
    """Starts dlc in a new process group, so that kill() ends all its processes."""
    command = [DLC, *map(str, words), *flags(options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def kill(process):
    """Sends SIGKILL to the process and to the ranks that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


def is_alive(pid):
    """Whether a process runs; False for a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def descendants(pid):
    """All descendants of a process, the youngest generation first."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []
    return [d for child in children for d in (*descendants(child), child)]


def finish(process, timeout=120):
    """Waits and returns (exit code, stdout, stderr); kills a process that hangs, and fails the test."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        kill(process)
        raise AssertionError(f"no end after {timeout} s: {' '.join(process.args)}") from None
    return process.returncode, out, err


def dlc(*words, code=OK, timeout=120, **options):
    """Runs dlc and returns (stdout, stderr); fails the test for any exit code but `code`."""
    process = start(*words, **options)
    status, out, err = finish(process, timeout)
    if status != code:
        raise AssertionError(f"exit code {status}, expected {code}: {' '.join(process.args)}\n"
                             f"--- stdout\n{out[-3000:]}--- stderr\n{err[-3000:]}")
    return out, err


def start_data(*words, binary=False, environment=None, **options):
    """Starts dlc-data like start(), with additional environment variables."""
    command = [DLC_DATA, *map(str, words), *flags(options)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=not binary,
                            start_new_session=True, env={**os.environ, **(environment or {})})


def dlc_data(*words, code=OK, timeout=120, **options):
    """Like dlc(), for dlc-data."""
    process = start_data(*words, **options)
    status, out, err = finish(process, timeout)
    if status != code:
        raise AssertionError(f"exit code {status}, expected {code}: {' '.join(process.args)}\n{err[-3000:]}")
    return out, err


def metadata(path):
    """Metadata of a safetensors file."""
    with open(path, "rb") as file:
        return json.loads(file.read(int.from_bytes(file.read(8), "little"))).get("__metadata__", {})


def load_file(path):
    """{name: array} of a safetensors file; bf16, which numpy lacks, as its bits in uint16."""
    dtypes = {"BF16": "u2", "F16": "f2", "F32": "f4", "F64": "f8", "I64": "i8", "I32": "i4", "U8": "u1", "BOOL": "?"}
    with open(path, "rb") as file:
        data = file.read()
    start = 8 + int.from_bytes(data[:8], "little")
    header, arrays = json.loads(data[8:start]), {}
    header.pop("__metadata__", None)
    for name, tensor in header.items():
        begin, end = (start + offset for offset in tensor["data_offsets"])
        array = np.frombuffer(data[begin:end], dtypes[tensor["dtype"]])
        arrays[name] = array.reshape(tensor["shape"])
    return arrays


def compile(source, artifact, **options):
    dlc("compile", source, "-o", artifact, **options)
    return artifact


def load_parts(folder):
    """The same for a checkpoint to which each rank has written its part."""
    names = sorted(name for name in os.listdir(folder) if name.startswith("state-"))
    whole, pieces = {}, {}
    for name in names:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        shapes = header.get("__metadata__", {})
        for key, array in load_file(path).items():
            if key not in shapes:
                whole[key] = array
                continue
            tensor, _, place = key.rpartition("[")
            shape = [int(extent) for extent in shapes[key].split(",") if extent]
            pieces.setdefault((tensor, tuple(shape)), {})[int(place.split(":")[0])] = array
    for (tensor, shape), arrays in pieces.items():
        whole[tensor] = np.concatenate([arrays[first] for first in sorted(arrays)]).reshape(shape)
    return whole


class Run:
    """A run folder."""

    def __init__(self, folder):
        self.folder = folder

    def metrics(self, key):
        with open(os.path.join(self.folder, "metrics.jsonl")) as file:
            return np.array([json.loads(line)[key] for line in file])

    def state(self, step):
        checkpoint = os.path.join(self.folder, f"checkpoint-{step}")
        whole = os.path.join(checkpoint, "state.safetensors")
        return load_file(whole) if os.path.exists(whole) else load_parts(checkpoint)

    def initial(self, artifact):
        return load_file(os.path.join(artifact, "state.safetensors"))


def train(artifact, data, run, **options):
    dlc("train", artifact, data=data, run=run, **options)
    return Run(run)


def evaluate(run, data, **options):
    out, _ = dlc("eval", run, data=data, json=True, **options)
    return json.loads(out)


class Reference:
    """Batches and results of PyTorch for one model: see test/refs/make_refs.py."""

    def __init__(self, name):
        self.arrays = np.load(os.path.join(REFS, name + "_ref.npz"))
        self.inputs, self.labels = self.arrays["inputs"], self.arrays["labels"]
        self.batch = self.inputs.shape[1]

    def group(self, prefix):
        start = prefix + "/"
        return {k[len(start):]: self.arrays[k] for k in self.arrays.files if k.startswith(start)}

    def write(self, path):
        """Writes the four batches as one data file, with a label for each row of logits."""
        x = np.concatenate(self.inputs)
        y = np.concatenate(self.labels)
        np.savez(path, x=x, y=y.reshape(len(x), -1) if len(y) > len(x) else y)
        return path


class TestCase(unittest.TestCase):
    """Each test gets an empty folder, removed at its end."""

    @classmethod
    def share_folder(cls):
        """Creates a folder for all tests of the class; call in setUpClass()."""
        cls.shared = tempfile.mkdtemp(prefix="dlc-test-")
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)

    @classmethod
    def share_artifact(cls, **options):
        """Compiles a small model to an artifact in that folder."""
        cls.share_folder()
        cls.artifact = compile(model("mlp"), os.path.join(cls.shared, "mlp.dlc"), batch=16, **options)

    @classmethod
    def share_run(cls, **options):
        """Trains that artifact."""
        cls.run_folder = os.path.join(cls.shared, "run")
        train(cls.artifact, data("digits-train"), cls.run_folder, **options)

    def setUp(self):
        self.new_folder()

    def new_folder(self):
        self.folder = tempfile.mkdtemp(prefix="dlc-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def assertNear(self, found, expected, tolerance, what):
        """||found - expected|| <= tolerance * ||expected||; infinities must be at the same positions."""
        found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
        self.assertEqual(found.shape, expected.shape, what)
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(found[~finite], expected[~finite], what)
        found, expected = found[finite], expected[finite]
        norm = np.linalg.norm(expected)
        error = np.linalg.norm(found - expected) / (norm if norm > 0 else 1.0)
        self.assertLessEqual(error, tolerance, f"{what}: relative difference {error:.3g}")

    def assertMoved(self, state, initial, expected):
        """Each parameter with "noise/NAME" in `expected` must have moved to "final/NAME", within max(2e-6, 30 times the noise).
        Returns the number of these parameters."""
        names = [k[len("noise/"):] for k in expected if k.startswith("noise/")]
        for name in names:
            first = initial[name].astype(np.float64)
            self.assertNear(state[name] - first, expected["final/" + name] - first,
                            max(2e-6, 30 * expected["noise/" + name]), name)
        return len(names)

    def assertBitwise(self, found, expected, what):
        self.assertEqual(found.keys(), expected.keys(), what)
        for name, value in expected.items():
            self.assertEqual(found[name].dtype, value.dtype, f"{what}: {name}")
            self.assertEqual(found[name].tobytes(), value.tobytes(), f"{what}: {name}")


def main():
    unittest.main(verbosity=2)
