# SPDX-License-Identifier: Apache-2.0
"""Writes fans.json beside this file: fan in and fan out of each weight, by torch.nn.init.

    python make_fans.py       # needs torch and onnx; a few seconds
"""

import json
import os
import sys

from torch.nn.init import _calculate_fan_in_and_fan_out as fans

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "models"))
import export  # noqa: E402

if __name__ == "__main__":
    table = {}
    for name in ["mlp", "lenet", "resnet8", "gpt_tiny"]:
        weights = export.make(name).state_dict().items()
        table[name] = {key: fans(value) for key, value in weights if value.dim() > 1}
    with open(os.path.join(here, "fans.json"), "w") as file:
        json.dump(table, file, indent=1)
        file.write("\n")
