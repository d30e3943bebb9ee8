"""--place and --explain-placement: who computes what, by whose choice."""

import os
import re

import dlc


class Placement(dlc.TestCase):
    def notes(self, name, *words):
        """Of each op: node, kind, by, why."""
        out, _ = dlc.dlc("compile", dlc.model(name), "--emit=mlir", "--stop-after=fuse", "--explain-placement", *words)
        return [re.split(r"  +", line[3:], maxsplit=3) for line in out.splitlines() if line.startswith("// ")]

    def gpt(self, *words):
        return self.notes("gpt_tiny", "--target=cuda", "--sm=90", "--amp", "--batch=4", *words)

    def test_gpu(self):
        """Every kind of op has its lines, with predicted times where there are some."""
        notes = self.gpt()
        whys = {kind: {(by, why) for _, k, by, why in notes if k == kind} for kind in
                ("attention", "norm", "matmul", "matmul-epilogue", "gather", "scatter_add")}
        (by, why), = whys["attention"]
        self.assertEqual(by, "library")
        self.assertRegex(why, r"predicted to be the fastest \(library [\d.]+ us, decomposed [\d.]+ us, generated [\d.]+ us\)")
        self.assertEqual(whys["norm"], {("decomposed", "preferred (decomposed, library)")})
        self.assertEqual(whys["gather"], {("generated", "the only way")})
        self.assertEqual(whys["scatter_add"], {("decomposed", "the only way")})
        for kind, other in ("matmul", "generated"), ("matmul-epilogue", "decomposed"):
            times = rf"predicted to be the fastest \(library ([\d.]+) us, {other} ([\d.]+) us\)"
            found = [(by, re.fullmatch(times, why)) for by, why in whys[kind]]
            self.assertTrue(any(match for _, match in found), kind)
            for by, match in found:
                if match and match[1] != match[2]:
                    self.assertEqual(by, "library" if float(match[1]) < float(match[2]) else other)

    def test_wish(self):
        """For all ops of a kind, or those of a node; the first word that fits counts."""
        norms = [note for note in self.gpt("--place=norm=library") if note[1] == "norm"]
        self.assertEqual({(by, why) for _, _, by, why in norms}, {("library", "--place=norm=library (decomposed, library)")})
        node = norms[0][0]
        words = f"--place=^{re.escape(node)}$:norm=library,norm=decomposed"
        for name, kind, by, _ in self.gpt("--norm=library", words):
            if kind == "norm":
                is_node = name.removesuffix(" (gradient)") == node
                self.assertEqual(by, "library" if is_node else "decomposed", name)

    def test_general_options(self):
        """They are names for rows of the same mechanism."""
        for option, word in ("--norm=library", "norm=library"), ("--matmul=library", "matmul=library"), (
                "--attention=generated", "attention=generated"):
            with self.subTest(option):
                kind = word.split("=")[0]
                general, placed = ([(name, by) for name, k, by, _ in self.gpt(w) if k == kind] for w in (option, "--place=" + word))
                self.assertEqual(general, placed)

    def test_attention_that_stays(self):
        """It has a line, too, where somebody might have computed it as one op."""
        whys = {(by, why) for _, kind, by, why in self.gpt("--place=attention=decomposed") if kind == "attention"}
        self.assertEqual(whys, {("decomposed", "--place=attention=decomposed (library, decomposed, generated)")})

    def test_cpu(self):
        """There is no choice, and the report changes nothing."""
        by = {kind: by for _, kind, by, _ in self.notes("lenet")}
        self.assertEqual(by["matmul"], "library")
        self.assertEqual(by["pool"], "library")
        plans = []
        for words in [], ["--explain-placement"]:
            out, _ = dlc.dlc("compile", dlc.model("mlp"), "-o", self.path(f"{len(plans)}.dlc"), *words)
            self.assertEqual(bool(re.search(r"^\S.*  matmul  library  the only way$", out, re.M)), bool(words))
            with open(os.path.join(self.path(f"{len(plans)}.dlc"), "plan.pb"), "rb") as file:
                plans.append(file.read())
        self.assertEqual(*plans)


if __name__ == "__main__":
    dlc.main()
