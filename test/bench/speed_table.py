# SPDX-License-Identifier: Apache-2.0
"""Prints the table of docs/guide/speed.md from what step_time.py --json wrote.

    python test/bench/speed_table.py FILE.json...

Several files make one table. Milliseconds are medians; the peer is the fastest of
PyTorch's forms for each model; memory is the peak, PyTorch's without its import.
"""

import json
import sys

import numpy as np

COLUMNS = ["model", "batch", "ms", "PyTorch, ms", "PyTorch / dlc", "roofline, %", "MiB", "PyTorch, MiB", "first step, s",
           "PyTorch, s"]


def row(name, found, batch):
    ours = found["dlc"]
    peer = min((its for side, its in found.items() if side != "dlc" and "error" not in its), key=lambda its: its["median_ms"])
    number = lambda x: f"{x:.2f}" if x < 10 else f"{x:.0f}"
    share = f"{100 * ours['roofline']:.0f}" if ours.get("roofline") else "-"
    return [name, str(batch), number(ours["median_ms"]), number(peer["median_ms"]), f"{peer['over_dlc']:.2f}", share,
            f"{ours['memory_mib']:.0f}", f"{peer['memory_mib']:.0f}", f"{ours['first_s']:.2f}", f"{peer['first_s']:.1f}"], peer["over_dlc"]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    lines, ratios = [COLUMNS, ["---"] * len(COLUMNS)], []
    for path in sys.argv[1:]:
        with open(path) as file:
            result = json.load(file)
        for name, found in result["models"].items():
            if "error" in found["dlc"]:
                sys.exit(f"{path}: {name} failed: {found['dlc']['error']}")
            cells, ratio = row(name, found, found["dlc"]["batch"])
            lines.append(cells)
            ratios.append(ratio)
    for cells in lines:
        print("| " + " | ".join(cells) + " |")
    print(f"\nGeometric mean of PyTorch / dlc: {np.exp(np.mean(np.log(ratios))):.2f}; least: {min(ratios):.2f}.")


if __name__ == "__main__":
    main()
