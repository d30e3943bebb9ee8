# SPDX-License-Identifier: Apache-2.0
"""Null for each pointer of each function of dlc.h and compile.h, and for each pointer in what is handed in: an error, never a signal."""

import ctypes
import os
import re
import signal

import dlc
import numpy as np

HEADERS = [os.path.join(dlc.ROOT, "runtime", "api", "dlc", name) for name in ("dlc.h", "compile.h")]
NUMBERS = {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "int": ctypes.c_int,
           "double": ctypes.c_double, "dlc_dtype": ctypes.c_int, "dlc_level": ctypes.c_int}
# What may be null, by the header's comments.
OPTIONAL = {("dlc_session_train_step", "updated"), ("dlc_trainer_run", "run"), ("dlc_session_on_batch", "batch"), ("dlc_dataset_from_views", "release"),
            ("dlc_trainer_open", "train"), ("dlc_trainer_open", "val"), ("dlc_trainer_open", "callbacks"), ("dlc_set_log", "log"),
            ("dlc_session_close", "session"), ("dlc_dataset_close", "dataset"), ("dlc_trainer_close", "trainer")}
OPTIONAL_FIELDS = {("dlc_source", name) for name in ("user", "name", "identity", "release")} | {("dlc_callbacks", name) for name in ("user", "step", "epoch")}

SIZED = ("dlc_source", "dlc_callbacks", "dlc_evaluation", "dlc_run")  # begin with their size, and a program makes them


def text():
    found = ""
    for name in HEADERS:
        with open(name) as file:
            found += re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return found


def declared(words):
    """(type, name, is a pointer) of "const char *path", "int (*batch)(void *user)"."""
    call = re.fullmatch(r"[\w ]+\(\*(\w+)\)\(.*\)", words)
    if call:
        return "call", call[1], True
    kind, stars, name = re.fullmatch(r"(?:const )?(\w+)(?: const)?\s*((?:\*|const|\s)*?)\s*\b(\w+)", words.strip()).groups()
    return kind, name, "*" in stars or kind == "dlc_log"


def split(words, separator):
    """At separators outside of parentheses."""
    return [one.strip() for one in re.split(separator + r"(?![^()]*\))", words) if one.strip() not in ("", "void")]


def functions():
    """The arguments of each function by its name."""
    found = re.findall(r"DLC_API\s+([\w\s]+?[\s*]+)(dlc_\w+)\(((?:[^()]|\([^()]*\))*)\);", text())
    return {name: (" ".join(result.split()), [declared(" ".join(one.split())) for one in split(arguments, ",")]) for result, name, arguments in found}


def structs():
    found = {}
    for fields, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text(), re.DOTALL):
        found[name] = [declared(" ".join(one.split())) for one in split(fields, ";")]
    return found


def struct(name):
    fields = [(field, ctypes.c_void_p if pointer else NUMBERS[kind]) for kind, field, pointer in structs()[name]]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


class Caller:
    """In a process of its own: the library, and arguments that are right."""

    def __init__(self, test, artifact):
        self.test, self.artifact, self.keep = test, artifact, []
        self.library = ctypes.CDLL(os.path.join(dlc.BUILD, "lib", "libdlc.so"))
        self.structs = {name: struct(name) for name in structs()}

    def pointer(self, value):
        self.keep.append(value)
        return ctypes.cast(ctypes.pointer(value), ctypes.c_void_p).value

    def words(self, value):
        self.keep.append(ctypes.create_string_buffer(value.encode()))
        return ctypes.addressof(self.keep[-1])

    def made(self, function, *arguments):
        place = ctypes.c_void_p()
        code = self.call(function, [*arguments, ctypes.addressof(place)])
        assert code == 0, (function, ctypes.string_at(self.library.dlc_message()))
        return place.value

    def call(self, function, arguments):
        entry = getattr(self.library, function)
        result, kinds = functions()[function]
        entry.restype = ctypes.c_void_p if "*" in result else None if result == "void" else ctypes.c_int
        entry.argtypes = [ctypes.c_void_p if pointer else NUMBERS[kind] for kind, _, pointer in kinds]
        self.library.dlc_message.restype = ctypes.c_char_p
        return entry(*arguments)

    def tensors(self):
        made = (self.structs["dlc_tensor"] * 2)()
        for at, (name, array, dtype) in enumerate([("x", np.ones((16, 1, 8, 8), np.float32), 0), ("y", np.ones(16, np.int64), 4)]):
            shape = (ctypes.c_int64 * array.ndim)(*array.shape)
            self.keep.append(array)
            made[at] = (self.words(name), dtype, array.ndim, self.pointer(shape), array.ctypes.data, array.nbytes)
        return made

    def source(self):
        read = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_void_p)(lambda *_: 0)
        self.keep.append(read)
        made = self.structs["dlc_source"]()
        made.size = ctypes.sizeof(made)
        made.name, made.samples, made.columns, made.column_count = self.words("own"), 64, self.pointer(self.tensors()), 2
        made.read, made.identity = ctypes.cast(read, ctypes.c_void_p).value, self.words("one")
        return made

    def session(self):
        return self.made("dlc_session_open", self.words(self.artifact), None, 0)

    def dataset(self):
        return self.made("dlc_dataset_from_arrays", self.pointer(self.tensors()), 2)

    def options(self, function):
        made = (self.structs["dlc_option"] * 1)()
        made[0] = (self.words("threads"), self.words("1"))
        if function == "dlc_trainer_open":
            made[0] = (self.words("run"), self.words(self.test.path("run")))
        return made

    def path(self, function, name):
        if name in ("program", "state", "name", "of"):
            return {"program": "train_step", "state": "f1.bias", "name": "loss", "of": "session"}[name]
        if function == "dlc_session_load":
            assert self.call("dlc_session_save", [self.session(), self.words(self.test.path("saved"))]) == 0
            return self.test.path("saved")
        if function.startswith("dlc_dataset"):
            return dlc.data("digits-test")
        return self.artifact if name in ("path", "model") and function != "dlc_session_save" else self.test.path("new")

    def argument(self, function, kind, name):
        if kind == "char":
            return self.words(self.path(function, name))
        if kind in ("dlc_session", "dlc_dataset", "dlc_trainer") and name in ("session", "samples", "train", "val", "dataset", "trainer"):
            if kind == "dlc_trainer":
                return self.made("dlc_trainer_open", self.words(self.artifact), self.dataset(), None, self.pointer(self.options("dlc_trainer_open")), 1, None)
            return self.session() if kind == "dlc_session" else self.dataset()
        if kind == "dlc_tensor" and name in ("arrays", "inputs"):
            return self.pointer(self.tensors())
        if kind == "dlc_option":
            return self.pointer(self.options(function))
        if kind == "dlc_source":
            return self.pointer(self.source())
        if kind in SIZED:
            made = self.structs[kind]()
            made.size = ctypes.sizeof(made)
            return self.pointer(made)
        if kind in ("call", "dlc_log"):
            self.keep.append(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda *_: 0))
            return ctypes.cast(self.keep[-1], ctypes.c_void_p).value
        return self.pointer((ctypes.c_char * 4096)())

    def number(self, function, name):
        if name == "count":
            return 2 if "arrays" in self.names(function) or "inputs" in self.names(function) else 1
        return 4 * 32 if name == "bytes" else 0

    def names(self, function):
        return [name for _, name, _ in functions()[function][1]]

    def arguments(self, function, nulls):
        return [None if name in nulls else self.argument(function, kind, name) if pointer else self.number(function, name)
                for kind, name, pointer in functions()[function][1]]


class Nulls(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact(lr=0.1)

    def code(self, body):
        """What `body`, given a caller, returns: its own process's exit code."""
        self.new_folder()
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.chdir(self.path(""))  # a run without a name is made there
                os.dup2(os.open(self.path("log"), os.O_WRONLY | os.O_CREAT), 2)
                code = body(Caller(self, self.artifact)) or 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return signal.Signals(os.WTERMSIG(status)).name
        with open(self.path("log")) as file:
            return os.WEXITSTATUS(status) if os.WEXITSTATUS(status) != 99 else file.read()

    def called(self, function, nulls):
        def body(caller):
            arguments = caller.arguments(function, nulls)
            result = caller.call(function, arguments)
            return result if functions()[function][0].endswith("dlc_code") else 50 if result else 51

        return self.code(body)

    def test_all_are_found(self):
        found = functions()
        with open(HEADERS[0]) as one, open(HEADERS[1]) as other:
            names = set(re.findall(r"^DLC_API[^;(]*?(dlc_\w+)\(", one.read() + other.read(), re.MULTILINE | re.DOTALL))
        self.assertEqual(set(found), names)
        self.assertGreater(len(found), 28)

    def test_each_pointer(self):
        for function, (result, arguments) in functions().items():
            pointers = [name for _, name, pointer in arguments if pointer]
            for nulls in [[], *([name] for name in pointers), pointers]:
                with self.subTest(function, nulls=nulls):
                    code = self.called(function, nulls)
                    self.assertIsInstance(code, int, code)
                    needed = [name for name in nulls if (function, name) not in OPTIONAL and name not in ("user", "count")]
                    if result.endswith("dlc_code") and needed:
                        self.assertEqual(code, dlc.USAGE)
                    elif "*" in result and needed:
                        self.assertEqual(code, 51)

    def test_each_pointer_within(self):
        """Of arrays, options, sources and callbacks."""
        for function, (_, arguments) in functions().items():
            for kind, name, pointer in arguments:
                if kind not in ("dlc_tensor", "dlc_option", "dlc_source", "dlc_callbacks") or name in ("outputs", "count"):
                    continue
                for _, field, inner in structs()[kind]:
                    if inner:
                        self.check_field(function, kind, name, field)

    def check_field(self, function, kind, name, field):
        def body(caller):
            arguments = caller.arguments(function, [])
            given = caller.structs[kind].from_address(arguments[caller.names(function).index(name)])
            setattr(given, field, None)
            return caller.call(function, arguments)

        with self.subTest(function, within=name, null=field):
            code = self.code(body)
            self.assertIsInstance(code, int, code)
            if (kind, field) in {("dlc_tensor", "shape"), ("dlc_option", "name"), ("dlc_source", "columns"), ("dlc_source", "read")}:
                self.assertEqual(code, dlc.USAGE)
            elif (kind, field) in OPTIONAL_FIELDS:
                self.assertEqual(code, dlc.OK)

    def with_size(self, function, size, rest):
        """The code of a call whose struct has `size` bytes, of which those beyond what is known are `rest`, and these bytes after it."""
        def body(caller):
            arguments = caller.arguments(function, [])
            (at, kind), = [(at, kind) for at, (kind, _, _) in enumerate(functions()[function][1]) if kind in SIZED]
            known = ctypes.sizeof(caller.structs[kind])
            room = ctypes.create_string_buffer(ctypes.string_at(arguments[at], known) + bytes([rest]) * 64, known + 64)
            ctypes.c_size_t.from_buffer(room).value = known + size if size in range(-32, 65) else size
            caller.keep.append(room)
            arguments[at] = ctypes.addressof(room)
            code = caller.call(function, arguments)
            with open(caller.test.path("rest"), "wb") as file:
                file.write(room.raw[known:])
            return code

        code = self.code(body)
        with open(self.path("rest"), "rb") as file:
            return code, file.read()

    def test_sizes_of_structs(self):
        found = {}
        for function, (_, arguments) in functions().items():
            for kind, _, _ in arguments:
                if kind in SIZED:
                    found[kind] = function
        self.assertEqual(sorted(found), sorted(SIZED))
        self.assertEqual(sorted(name for name, fields in structs().items() if fields[0][1] == "size"), sorted([*SIZED, "dlc_step", "dlc_epoch"]))
        for kind, function in found.items():
            with self.subTest(kind):
                self.assertEqual(self.with_size(function, 0, 7), (dlc.OK, b"\7" * 64))
                for size in (-8, -32, 5000, 1 << 63):
                    self.assertEqual(self.with_size(function, size, 7), (dlc.USAGE, b"\7" * 64))
                self.assertEqual(self.with_size(function, 16, 0)[0], dlc.OK)
                is_read = kind in ("dlc_source", "dlc_callbacks")
                self.assertEqual(self.with_size(function, 16, 7), (dlc.USAGE, b"\7" * 64) if is_read else (dlc.OK, b"\0" * 16 + b"\7" * 48))

    def test_sizes_that_cannot_be(self):
        for rank in (-1, 1 << 30):
            for function in ("dlc_dataset_from_arrays", "dlc_session_train_step"):
                def body(caller, function=function, rank=rank):
                    arguments = caller.arguments(function, [])
                    given = arguments[caller.names(function).index("arrays" if "arrays" in caller.names(function) else "inputs")]
                    caller.structs["dlc_tensor"].from_address(given).rank = rank
                    return caller.call(function, arguments)

                with self.subTest(function, rank=rank):
                    self.assertEqual(self.code(body), dlc.USAGE)


if __name__ == "__main__":
    dlc.main()
