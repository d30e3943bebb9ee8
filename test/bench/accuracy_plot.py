# SPDX-License-Identifier: Apache-2.0
"""The table and the picture of accuracy.py: SVG with a panel per model and a line per precision."""

import numpy as np

COLOURS = {"f32": "#333333", "bf16 O1": "#1b75bb", "bf16 O2": "#e07b00", "fp16 O1": "#3a9b3a"}
WIDTH, HEIGHT, LEFT, TOP = 470, 300, 62, 40  # of a panel, and its place in its half
FONT = 'font-family="sans-serif" font-size="13"'


def group(results):
    """{model: {precision: its runs}}"""
    models = {}
    for r in results:
        models.setdefault(r["model"], {}).setdefault(r["precision"], []).append(r)
    return models


def write_table(results, path):
    lines = ["Final test accuracy in percent and mean test loss, as accuracy.py measured them; a seed is the",
             "initial weights and the order of the samples.", ""]
    for model, precisions in sorted(group(results).items()):
        seeds = sorted({r["seed"] for runs in precisions.values() for r in runs})
        lines += [f"| {model} | " + " | ".join(f"seed {s}" for s in seeds)
                  + " | mean | against f32 | loss | skipped steps |",
                  "|---" * (len(seeds) + 5) + "|"]
        base = 100 * np.mean([r["accuracy"] for r in precisions["f32"]])
        for precision in COLOURS:
            runs = {r["seed"]: r for r in precisions.get(precision, [])}
            if not runs:
                continue
            found = {s: 100 * r["accuracy"] for s, r in runs.items()}
            mean = np.mean(list(found.values()))
            cells = [f"{found[s]:.1f}" if s in found else "" for s in seeds]
            loss, skipped = (np.mean([r[k] for r in runs.values()]) for k in ("loss", "skipped"))
            lines.append(f"| {precision} | " + " | ".join(cells) + f" | {mean:.2f} | {mean - base:+.2f}"
                         f" | {loss:.4f} | {skipped:.1f} |")
        lines.append("")
    with open(path, "w") as file:
        file.write("\n".join(lines))


class Panel:
    """Axes: steps, and losses by their logarithm."""

    def __init__(self, origin, steps, low, high):
        self.x0, self.y0, self.steps = origin + LEFT, TOP, steps
        self.low, self.high = np.log10(low), np.log10(high)

    def x(self, step):
        return self.x0 + WIDTH * step / self.steps

    def y(self, loss):
        return self.y0 + HEIGHT * (self.high - np.log10(loss)) / (self.high - self.low)

    def axes(self, title):
        yield f'<text x="{self.x0 + WIDTH / 2}" y="{TOP - 14}" text-anchor="middle" {FONT}>{title}</text>'
        yield (f'<rect x="{self.x0}" y="{self.y0}" width="{WIDTH}" height="{HEIGHT}" fill="none"'
               ' stroke="#888888"/>')
        for exponent in range(-6, 3):
            for digit in (1, 2, 5):
                loss = digit * 10.0**exponent
                if self.low <= np.log10(loss) <= self.high:
                    y = self.y(loss)
                    yield f'<path d="M{self.x0} {y:.1f}h{WIDTH}" stroke="#dddddd"/>'
                    yield f'<text x="{self.x0 - 6}" y="{y + 4:.1f}" text-anchor="end" {FONT}>{loss:g}</text>'
        unit = 100 if self.steps <= 700 else 200
        for step in range(0, int(self.steps) + 1, unit):
            yield (f'<text x="{self.x(step):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle" {FONT}>'
                   f"{step}</text>")
        yield (f'<text x="{self.x0 + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle" {FONT}>'
               "step</text>")

    def line(self, steps, losses, colour, width, opacity):
        points = " ".join(f"{self.x(s):.1f},{self.y(v):.1f}" for s, v in zip(steps, losses))
        return (f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"'
                f' stroke-opacity="{opacity}"/>')


def write_picture(results, window, path):
    models = sorted(group(results).items())
    span = WIDTH + LEFT + 20
    parts = []
    for number, (model, precisions) in enumerate(models):
        curves = {p: np.array([r["curve"] for r in runs]) for p, runs in precisions.items()}
        low = min(c.mean(axis=0).min() for c in curves.values()) * 0.6
        high = max(c.max() for c in curves.values()) * 1.1
        steps = (np.arange(len(next(iter(curves.values()))[0])) + 0.5) * window
        panel = Panel(number * span, steps[-1] + window / 2, low, high)
        parts += panel.axes(f"{model}: training loss, mean of {window} steps")
        for thin in (True, False):
            for precision, colour in COLOURS.items():
                for curve in curves.get(precision, []) if thin else []:
                    parts.append(panel.line(steps, np.maximum(curve, low), colour, 0.7, 0.25))
                if not thin and precision in curves:
                    parts.append(panel.line(steps, curves[precision].mean(axis=0), colour, 1.8, 0.9))
        for row, precision in enumerate(p for p in COLOURS if p in curves):
            y, colour = TOP + 18 + 20 * row, COLOURS[precision]
            x = panel.x0 + WIDTH - 110
            parts.append(f'<path d="M{x} {y}h28" stroke="{colour}" stroke-width="2.5"/>')
            parts.append(f'<text x="{x + 36}" y="{y + 4}" {FONT}>{precision}</text>')
    width, height = span * len(models) + 10, TOP + HEIGHT + 70
    note = "thick: mean of the seeds; thin: each seed"
    parts.append(f'<text x="{LEFT}" y="{height - 10}" {FONT} fill="#666666">{note}</text>')
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">\n'
                   '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n")
