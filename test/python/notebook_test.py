# SPDX-License-Identifier: Apache-2.0
"""A notebook trains, and shows messages and one bar below its cells."""

import wheel

wheel.enter(f"{wheel.TOOLS}/python", ", which has nbclient: run tools/setup.sh")

import tempfile
import unittest

import nbclient
import nbformat

CELLS = (f"""import dlc
dlc.compile("{wheel.MODELS}/mlp.onnx", "mlp.dlc", optimizer="adamw", lr=0.003)""",
         f"""run = dlc.Trainer("mlp.dlc", data="{wheel.MODELS}/digits-train.npz", val="{wheel.MODELS}/digits-test.npz",
                  epochs=2, run="run").run()""",
         f"""dlc.Session(run.folder).evaluate("{wheel.MODELS}/digits-test.npz")""")


class Notebook(unittest.TestCase):
    def test_it_runs(self):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
        with tempfile.TemporaryDirectory() as folder:
            nbclient.NotebookClient(notebook, timeout=200, kernel_name="python3",
                                    resources={"metadata": {"path": folder}}).execute()
        shown = ["".join(output.get("text", "") for output in cell.outputs) for cell in notebook.cells]
        bar, = (output["data"] for output in notebook.cells[1].outputs if output.output_type == "display_data")
        self.assertRegex(bar["text/plain"], r"^epoch 2/2  step (\d+)/\1 ")  # the last one, in place of those before
        self.assertIn("<progress", bar["text/html"])
        self.assertNotRegex(shown[1], r"step \d+/")
        self.assertRegex(shown[1], r"epoch 2: val loss \d\.\d+ accuracy")
        self.assertRegex(notebook.cells[2].outputs[-1]["data"]["text/plain"], r"Evaluation\(loss=\d\.\d+, accuracy=0\.\d+")


if __name__ == "__main__":
    unittest.main(verbosity=2)
