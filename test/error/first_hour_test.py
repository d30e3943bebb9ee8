# SPDX-License-Identifier: Apache-2.0
"""What somebody who comes from PyTorch gets wrong in the first hour: each message names the cause, and a line that works."""

import os
import pickle
import re
import shutil
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import dlc
import pictures

GUIDE = r"docs/guide/export\.md"
random = np.random.RandomState(0)


def network(batch, *nodes, **weights):
    """x [batch, 1, 8, 8] to y [batch, 3]; the nodes give `y`."""
    graph = helper.make_graph(list(nodes), "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 1, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 3])],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    return helper.make_model(graph, producer_name="pytorch", opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def fixed(shape, fold=False):
    """A model of batch 1 whose Reshape has the number in it."""
    nodes = [helper.make_node("Conv", ["x", "onnx::Conv_1" if fold else "c", "onnx::Conv_2"], ["h"], name="/c/Conv", kernel_shape=[8, 8]),
             helper.make_node("Reshape", ["h", "shape"], ["y"], name="/Reshape")]
    return network(1, *nodes, **{"onnx::Conv_1" if fold else "c": random.randn(3, 1, 8, 8).astype(np.float32),
                                 "onnx::Conv_2": np.zeros(3, np.float32), "shape": np.array(shape)})


class FirstHour(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.held = tempfile.TemporaryDirectory(prefix="dlc-test-")
        cls.home = cls.held.name
        cls.mlp = f"{cls.home}/mlp.dlc"
        dlc.dlc("compile", dlc.model("mlp"), "--batch=16", "--quiet", "-o", cls.mlp)
        cls.write_models()
        cls.write_data()

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    @classmethod
    def at(cls, name):
        return f"{cls.home}/{name}"

    @classmethod
    def write_models(cls):
        files = {"m.pth": b"\x80\x02junk", "m.ckpt": b"PK\x03\x04junk", "m.pkl": pickle.dumps({"a": 1}), "m.onnx.data": bytes(64),
                 "m.tflite": bytes(4) + b"TFL3" + bytes(8), "m.h5": b"\x89HDF\r\n\x1a\n" + bytes(8), "m.keras": b"PK\x03\x04junk",
                 "m.pb": b"\xff\xff", "m.gguf": b"GGUF\x03", "m.safetensors": b"\x08\0\0\0\0\0\0\0{\"a\":{}}", "my.py": b"import torch\n",
                 "renamed.onnx": bytes(4) + b"TFL3" + bytes(8), "m.engine": b"\xff\xff", "m.pt2": b"PK\x03\x04junk"}
        for name, content in files.items():
            with open(cls.at(name), "wb") as file:
                file.write(content)
        with zipfile.ZipFile(cls.at("m.pt"), "w") as file:
            file.writestr("m/data.pkl", "junk")
        os.makedirs(cls.at("saved"))
        open(cls.at("saved/saved_model.pb"), "w").close()
        onnx.save(fixed([1, -1]), cls.at("fixed.onnx"))
        onnx.save(fixed([1, -1], fold=True), cls.at("folded.onnx"))
        onnx.save(fixed([3]), cls.at("flat.onnx"))

    @classmethod
    def write_data(cls):
        with np.load(dlc.data("digits-train")) as data:
            x, y = data["x"][:64], data["y"][:64]
        real = x.astype(np.float32)
        holes = real / 16
        holes[5, 0, 3, 3], holes[40] = np.nan, np.inf
        files = {"good": (x, y), "onehot": (x, np.eye(10, dtype=np.float32)[y]), "onehot_i": (x, np.eye(10, dtype=np.int64)[y]),
                 "floats": (x, y.astype(np.float32)), "hwc": (x.transpose(0, 2, 3, 1), y), "flat": (x.reshape(64, -1), y),
                 "f64": ((real / 16).astype(np.float64), y.astype(np.int32)), "bytes": (real * 15, y), "holes": (holes, y),
                 "from_1": (x, y + 1), "wide": (x.astype(np.uint16) * 4000, y), "names_of_classes": (x, np.array([f"c{n}" for n in y])), "short": (x, y[:60])}
        for name, (inputs, labels) in files.items():
            np.savez(cls.at(f"{name}.npz"), x=inputs, y=labels)
        np.savez(cls.at("named.npz"), images=x, labels=y)
        np.savez(cls.at("target.npz"), x=x, target=y)
        for targets in "masked/masks", "boxed/labels":
            os.makedirs(cls.at(targets))
            os.makedirs(cls.at(os.path.join(targets, "..", "images")))
        for name, text in {"boxes.json": "{}", "data.yaml": "train: images\n"}.items():
            with open(cls.at(name), "w") as file:
                file.write(text)
        for part in "train", "val":
            pictures.write_folder(cls.at(f"split/{part}"), np.zeros((4, 8, 8), np.uint8), [0, 0, 1, 1])

    def compile(self, *words):
        return ["compile", dlc.model("mlp"), "-o", self.path("out.dlc"), *words]

    def model(self, name, *words):
        return ["compile", self.at(name), "-o", self.path("out.dlc"), *words]

    def train(self, name, *words):
        return ["train", self.mlp, f"--data={self.at(name)}", "--epochs=1", f"--run={self.path('run')}", *words]

    def check(self, cases):
        for name, (words, code, cause, way) in cases.items():
            with self.subTest(name):
                shutil.rmtree(self.path("run"), ignore_errors=True)
                _, err = dlc.dlc(*words, code=code, timeout=60)
                self.assertRegex(err, cause)
                self.assertRegex(err, way)
                self.assertNotRegex(err, r"tensor<|At Most|required but|not in \{")
                self.assertFalse(code and os.path.exists(self.path("out.dlc")))

    def test_flags(self):
        run = ["train", self.mlp, "--data=x.npz"]
        self.check({
            "case": (self.compile("--optimizer=adamW"), 2, "'adamW' is not one of", "did you mean 'adamw'"),
            "a class's name": (self.compile("--loss=CrossEntropyLoss"), 2, "'CrossEntropyLoss'", "did you mean 'cross_entropy'"),
            "a schedule's": (self.compile("--schedule=CosineAnnealingLR"), 2, "'CosineAnnealingLR'", "did you mean 'cosine'"),
            "a type's": (self.compile("--amp", "--amp-dtype=float16"), 2, "'float16'", "did you mean 'fp16'"),
            "gpu": (self.compile("--target=gpu"), 2, "'gpu' is not one of cpu, cuda", "did you mean 'cuda'"),
            "acc": (["eval", self.mlp, "--data=x", "--metrics=acc"], 2, "'acc' is not a metric", "did you mean 'accuracy'"),
            "f1_score": (["eval", self.mlp, "--data=x", "--metrics=f1_score"], 2, "'f1_score'", "did you mean 'f1'"),
            "roc_auc": ([*run, "--metrics=roc_auc"], 2, "'roc_auc'", "did you mean 'auc'"),
            "metrics of compile": (self.compile("--metrics=acc"), 2, "unknown flag '--metrics'", "dlc train has it"),
            "epochs of compile": (self.compile("--epochs=3"), 2, "unknown flag '--epochs'", "dlc train has it"),
            "data of compile": (self.compile("--data=x.npz"), 2, "unknown flag '--data'", "dlc train has it"),
            "rate of train": ([*run, "--lr=0.1"], 2, "unknown flag '--lr'", "dlc compile has it"),
            "optimizer of train": ([*run, "--optimizer=adam"], 2, "unknown flag '--optimizer'", "dlc compile has it"),
            "amp of train": ([*run, "--amp"], 2, "unknown flag '--amp'", "dlc compile has it"),
            "batch size": (self.compile("--batch-size=3"), 2, "unknown flag '--batch-size'", "did you mean '--batch'"),
            "with a bar below": (self.compile("--batch_size=3"), 2, "unknown flag '--batch_size'", "did you mean '--batch'"),
            "learning rate": (self.compile("--learning-rate=1"), 2, "unknown flag '--learning-rate'", "did you mean '--lr'"),
            "fp16": (self.compile("--fp16"), 2, "unknown flag '--fp16'", "did you mean '--amp --amp-dtype=fp16'"),
            "bf16": (self.compile("--bf16"), 2, "unknown flag '--bf16'", "did you mean '--amp'"),
            "fp16 of train": ([*run, "--fp16"], 2, "unknown flag '--fp16'", "dlc compile has '--amp --amp-dtype=fp16'"),
            "device": (self.compile("--device=cuda"), 2, "unknown flag '--device'", "did you mean '--target=cuda'"),
            "device of train": ([*run, "--device=cuda"], 2, "unknown flag '--device'", "dlc compile has '--target=cuda'"),
            "gpus": ([*run, "--gpus=2"], 2, "unknown flag '--gpus'", "dlc compile has '--ddp=N'"),
            "workers": ([*run, "--num-workers=2"], 2, "unknown flag '--num-workers'", "did you mean '--workers'"),
            "epochs of a trainer": ([*run, "--num_train_epochs=2"], 2, "unknown flag '--num_train_epochs'", "did you mean '--epochs'"),
            "steps of a trainer": ([*run, "--max-steps=2"], 2, "unknown flag '--max-steps'", "did you mean '--steps'"),
            "validation": ([*run, "--val-data=x"], 2, "unknown flag '--val-data'", "did you mean '--val'"),
            "folder of a run": ([*run, "--output-dir=x"], 2, "unknown flag '--output-dir'", "did you mean '--run'"),
            "classes": (self.compile("--num-classes=5"), 2, "unknown flag '--num-classes'", "did you mean '--replace-head=N'"),
            "accumulation": (self.compile("--gradient_accumulation_steps=4"), 2, "unknown flag", "did you mean '--accumulate'"),
            "clipping": (self.compile("--max-grad-norm=1"), 2, "unknown flag '--max-grad-norm'", "did you mean '--clip-grad'"),
            "fit": (["fit", self.mlp], 2, "unknown command 'fit'", "did you mean 'train'"),
            "validate": (["validate", self.mlp], 2, "unknown command 'validate'", "did you mean 'eval'"),
            "detections": (["eval", self.mlp, "--data=x", "--metrics=mAP50"], 2, "'mAP50' is not a metric", "`dlc-data map` does that"),
            "optimizer's arguments": (self.compile("--optimizer=Adam,lr=0.1"), 2, "'Adam,lr=0.1' is not one of", "did you mean 'adam'"),
            "masks": (["data", "masks", "x"], 2, "unknown command 'masks'", "`dlc-data masks` does that"),
            "format": (["export", self.mlp, "--format=onnx"], 2, "unknown flag '--format'", "did you mean '--output=FILE.onnx'"),
            "side of pictures": (self.compile("--imgsz=640"), 2, "unknown flag '--imgsz'", "did you mean '--dim NAME=N'"),
            "checkpoint": ([*run, "--ckpt=last.pt"], 2, "unknown flag '--ckpt'", "did you mean '--resume'"),
            "source": (["predict", self.mlp, "--source=new"], 2, "unknown flag '--source'", "did you mean '--data'"),
            "a flag twice": ([*run, "--data=y.npz"], 2, "--data is given 2 times", "expected once"),
            "no value": (["train", self.mlp, "--data"], 2, "--data: expected a value", "as in --data=PATH"),
            "a choice": (self.compile("--emit=ptx"), 2, "--emit: 'ptx' is not one of mlir", "see dlc compile --help"),
            "a number": (["check", dlc.model("mlp"), "--layers", "--depth=-1"], 2, "--depth: .*found '-1'", "whole number of at least 0"),
            "two models": (self.compile("b.onnx"), 2, "unexpected argument 'b.onnx'", "expected one file"),
        })

    def test_every_other_name_leads_to_a_flag(self):
        flags = set()
        for name in "compile", "train":
            flags |= set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", dlc.dlc(name, "--help=all")[0], re.MULTILINE))
        with open(os.path.join(dlc.ROOT, "runtime", "base", "options", "Theirs.cpp")) as file:
            named = re.findall(r'"(--[\w-]+)', file.read())
        self.assertGreater(len(named), 25)
        self.assertEqual([name for name in named if name not in flags], [])

    def test_models(self):
        export = r"python -m dlc\.export my\.py:Model --input 1,3,224,224 --weights \S+"
        self.check({
            "no file": (["compile", self.at("none.onnx")], 1, "none.onnx: no such file", "none.onnx"),
            "no file to check": (["check", self.at("none.onnx")], 1, "none.onnx: no such file", "none.onnx"),
            "torch.save": (self.model("m.pt"), 3, "a file of torch.save, not an ONNX model", export + r"m\.pt .*" + GUIDE),
            "state dict": (self.model("m.pth"), 3, "a file of torch.save, not an ONNX model", export),
            "torch.export": (self.model("m.pt2"), 3, "a program of torch.export", r"torch\.export\.load\(\"\S+m\.pt2\"\)"),
            "lightning": (self.model("m.ckpt"), 3, "a checkpoint of PyTorch Lightning", export),
            "pickle": (self.model("m.pkl"), 3, "a pickle, not an ONNX model", export),
            "weights of a model": (self.model("m.onnx.data"), 3, "the weights of an ONNX model", r"beside it, `\S+m\.onnx`"),
            "tflite": (self.model("m.tflite"), 3, "a model of TensorFlow Lite", r"python -m tf2onnx\.convert --tflite \S+m\.tflite"),
            "by its content": (self.model("renamed.onnx"), 3, "a model of TensorFlow Lite", "tf2onnx"),
            "h5": (self.model("m.h5"), 3, "an HDF5 file", r"load_model\(\"\S+m\.h5\"\).export"),
            "keras": (self.model("m.keras"), 3, "a model of Keras", r"load_model\(\"\S+m\.keras\"\).export"),
            "graph of TensorFlow": (self.model("m.pb"), 3, "a graph of TensorFlow", "tf2onnx.convert --graphdef"),
            "SavedModel": (self.model("saved"), 3, "a SavedModel of TensorFlow", r"tf2onnx\.convert --saved-model \S+saved"),
            "safetensors": (self.model("m.safetensors"), 3, "weights without a model", r"compile MODEL\.onnx --weights=\S+m\.safetensors"),
            "gguf": (self.model("m.gguf"), 3, "a model of llama.cpp", "export the model that it was made from"),
            "engine": (self.model("m.engine"), 3, "an engine of TensorRT", "the ONNX file that it was made from"),
            "program": (self.model("my.py"), 3, "a Python program", r"dlc\.export \S+my\.py:Model"),
            "data": (self.model("good.npz"), 3, "a file of arrays", r"dlc train model\.dlc --data=\S+good\.npz"),
            "artifact": (["compile", self.mlp, "-o", self.path("out.dlc")], 3, "an artifact of dlc compile", r"dlc train \S+mlp\.dlc"),
            "a model to train": (["train", self.at("fixed.onnx"), "--data=x.npz"], 1, "fixed.onnx' is not an artifact",
                                 r"`dlc compile \S+fixed\.onnx -o model\.dlc`"),
            "one class": (self.compile("--replace-head=1"), 3, r"found f32 \[\d+, 1\]", "use --loss=bce for one logit a row"),
            "a batch in the graph": (self.model("flat.onnx", "--batch=4", "--loss=mse"), 3, r"/Reshape: .*fixes the batch at 1",
                                     "--batch=1, or export with an open one, as in torch.onnx.export.*" + GUIDE),
            "logits as log-probabilities": (self.compile("--loss=nll"), 0, r"warning: /f2/Gemm: --loss=nll takes log-probabilities",
                                            "--loss=cross_entropy takes logits"),
        })

    def test_exports_under_other_names(self):
        def export(name):
            return ["export", self.mlp, "-o", self.path(name)]

        self.check({
            "tflite": (export("x.tflite"), 2, "dlc export writes ONNX: give -o .*x.onnx", "onnx2tf -i .*x.onnx"),
            "torch": (export("x.pt"), 2, "dlc export writes ONNX", "load_into.module"),
            "torchscript": (export("x.torchscript"), 2, "dlc export writes ONNX", "load_into.module"),
            "safetensors": (export("x.safetensors"), 2, "dlc export writes ONNX", "--lora=adapters"),
            "keras": (export("X.KERAS"), 2, "dlc export writes ONNX", "onnx2tf"),
            "engine": (export("x.engine"), 2, "dlc export writes ONNX", "trtexec --onnx="),
        })
        self.assertEqual(os.listdir(self.folder), [])

    def test_data(self):
        self.check({
            "other names": (self.train("named.npz"), 1, "no array 'x', found: images, labels", "--columns=x=images,y=labels reads them"),
            "another label": (self.train("target.npz"), 1, "no array 'y', found: x, target", "--columns=y=target reads it"),
            "one-hot": (self.train("onehot.npz"), 1, r"'y': has dtype f32, .*f32 \[64, 10\]; of one-hot", r"y = y\.argmax\(1\)"),
            "one-hot integers": (self.train("onehot_i.npz"), 1, "'y': has 10 labels a sample", r"y = y\.argmax\(1\)"),
            "float labels": (self.train("floats.npz"), 1, "'y': has dtype f32, expected integers", r"y = y\.astype\('int64'\)"),
            "channels last": (self.train("hwc.npz"), 1, r"shape \[8, 8, 1\], expected \[1, 8, 8\]", r"x = x\.transpose\(0, 3, 1, 2\)"),
            "flat pictures": (self.train("flat.npz"), 1, r"shape \[64\], expected \[1, 8, 8\]", r"x = x\.reshape\(-1, 1, 8, 8\)"),
            "bytes as floats": (self.train("bytes.npz"), 0, "'x' has whole numbers up to 255", "--scale=0.003922 divides by 255"),
            "16-bit pictures": (self.train("wide.npz"), 0, "'x' has whole numbers up to 65535", "--scale=1.526e-05 divides by 65535"),
            "holes": (self.train("holes.npz"), 8, r"not finite: .*holes\.npz': 'x' in rows 5, 40 \(2 of 64\)", "leave these rows out"),
            "classes from 1": (self.train("from_1.npz"), 1, "label 10 in row .* expected 0 to 9", "y = y - 1 counts from 0"),
            "names as labels": (self.train("names_of_classes.npz"), 1, "dtype '<U2' is not supported", r"unique\(y, return_inverse=True\)"),
            "masks": (self.train("masked"), 1, "folders images and masks, which are no classes",
                      r"dlc-data masks \S+/masked/masks --images=\S+/masked/images --size=H,W"),
            "boxes": (self.train("boxed"), 1, "folders images and labels, which are no classes",
                      r"dlc-data boxes \S+/boxed/labels --images=\S+/boxed/images --size=H,W"),
            "boxes of COCO": (self.train("boxes.json"), 1, r"boxes\.json' is JSON, a format that dlc does not read", "dlc-data boxes makes arrays"),
            "data.yaml": (self.train("data.yaml"), 1, r"data\.yaml' is YAML, as of Ultralytics", "dlc-data boxes"),
            "a split": (self.train("split"), 1, "folders train and val, which are parts", r"--data=\S+/split/train --val=\S+/split/val"),
        })

    def test_what_loses_nothing_is_taken(self):
        dlc.dlc(*self.train("f64.npz"))
        for columns in "x=images,y=labels", "x:images;y:labels":
            _, err = dlc.dlc("train", self.mlp, f"--data={self.at('named.npz')}", f"--columns={columns}", "--epochs=1",
                             f"--run={self.path(columns[1] + 'run')}")
            self.assertIn("4 steps of 16 samples", err)
        _, err = dlc.dlc(*self.train("split/train"), f"--val={self.at('split/val')}", "--bad-samples=skip", code=1)
        self.assertNotIn("parts of the data", err)

    def test_what_an_export_lost(self):
        with open(os.path.join(dlc.ROOT, "docs", "guide", "export.md")) as file:
            guide = file.read()
        for words in self.model("folded.onnx", "--loss=mse"), ["check", self.at("folded.onnx"), "--loss=mse"]:
            _, err = dlc.dlc(*words)
            self.assertRegex(err, r"warning: .*folded batch norm into 1 nodes \(the first is '/c/Conv'\).*" + GUIDE)
            self.assertRegex(err, r"warning: .*fixes the batch at 1, so a step trains on one sample: --batch=32 changes.*" + GUIDE)
            for line in re.findall(r"(torch\.onnx\.export\(.*?\)) \(docs", err):
                self.assertIn(line, guide)
        for words in ["--batch=4"], ["--predict-only"]:
            _, err = dlc.dlc(*self.model("fixed.onnx", "--loss=mse" if "4" in words[0] else "--quiet", *words))
            self.assertNotIn("one sample", err)


if __name__ == "__main__":
    dlc.main()
