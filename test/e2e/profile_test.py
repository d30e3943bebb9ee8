"""dlc train --profile times every command of a step."""

import json

import dlc


class Profile(dlc.TestCase):
    def test_lenet(self):
        artifact = dlc.compile(dlc.model("lenet"), self.path("lenet.dlc"))
        _, err = dlc.dlc("train", artifact, data=dlc.data("mnist-train"), run=self.path("run"),
                         steps=6, profile=True)
        with open(self.path("run/profile.json")) as file:
            commands = json.load(file)
        out, _ = dlc.dlc("inspect", artifact, json=True)
        expected = json.loads(out)["programs"]["train_step"]
        self.assertEqual(len(commands), expected["commands"])
        for command in commands:
            self.assertEqual(command["calls"], 5, "all steps but the first, which binds")
            self.assertGreater(command["least"], 0)
            self.assertGreaterEqual(command["seconds"], 5 * command["least"])
        self.assertEqual(sum(c["flops"] for c in commands), expected["flops"])
        convolution = next(c for c in commands if c["kind"] == "conv_backward_filter")
        self.assertIn("Conv", convolution["nodes"])
        self.assertRegex(err, r"GFLOP/s")
        self.assertRegex(err, r"all commands of a train_step")


if __name__ == "__main__":
    dlc.main()
