# SPDX-License-Identifier: Apache-2.0
"""The grid of dlc data preview with a label below each picture."""

from __future__ import annotations

import json

from PIL import Image, ImageDraw, ImageFont

from dlc_data.output import Workplace

WIDTH, LINE = 96, 18  # least of a cell, height of a label, in pixels


def write_sheet(grid: str, cells: str, output: str) -> None:
    """Small pictures are enlarged, so that a label has room; a longer one is cut."""
    with open(cells, encoding="utf-8") as file:
        about = json.load(file)
    width, height, gap, columns, labels = (about[key] for key in ("width", "height", "gap", "columns", "labels"))
    scale, font = -(-WIDTH // width), ImageFont.load_default(12)
    columns = min(columns, len(labels))
    cell = scale * width + gap, scale * height + LINE + gap
    sheet = Image.new("RGB", (columns * cell[0] - gap, -(-len(labels) // columns) * cell[1] - gap), "white")
    with Image.open(grid) as pictures:
        for i, text in enumerate(labels):
            column, row = i % columns, i // columns
            left, top = column * (width + gap), row * (height + gap)
            picture = pictures.crop((left, top, left + width, top + height))
            sheet.paste(picture.resize((scale * width, scale * height), Image.Resampling.NEAREST), (column * cell[0], row * cell[1]))
            label = Image.new("RGB", (scale * width, LINE), "white")
            ImageDraw.Draw(label).text((0, 1), text, fill="black", font=font)
            sheet.paste(label, (column * cell[0], row * cell[1] + scale * height))
    with Workplace(output) as place:
        made = place.open("all")
        sheet.save(made, "PNG")
        place.publish(made)
