# SPDX-License-Identifier: Apache-2.0
"""Prints test/unit/AugmentReference.h, with Pillow and torchvision: python augment_reference.py > AugmentReference.h"""
import numpy as np
from PIL import Image
from torchvision.transforms import functional as F
from torchvision.transforms.functional import InterpolationMode as Mode


def picture(height, width):
    y, x, c = np.meshgrid(range(height), range(width), range(3), indexing="ij")
    return Image.fromarray(((x * 37 + y * 91 + c * 53 + x * y * (7 + c)) % 256).astype(np.uint8))


def fnv(image):
    value = 0xCBF29CE484222325
    for byte in np.asarray(image.convert("RGB")).tobytes():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"0x{value:016X}"


def main():
    print("// Made by augment_reference.py: FNV-1a of the pixels that Pillow gives.")
    print("#pragma once\n\n#include <cstdint>\n")
    print("struct ResizeReference {\n  int filter, top, left, height, width, toHeight, toWidth;\n  uint64_t hash;\n};")
    print("constexpr ResizeReference kResizes[] = {")
    image = picture(47, 61)
    for at, mode in enumerate((Mode.NEAREST, Mode.BILINEAR, Mode.BICUBIC)):
        for box in ((0, 0, 47, 61), (5, 9, 31, 23), (0, 40, 7, 21), (46, 0, 1, 61)):
            for size in ((16, 16), (33, 80), (7, 21), (1, 1)):
                part = F.crop(image, *box)
                if mode != Mode.NEAREST:  # across first, which newer Pillows do not always do of themselves
                    part = F.resize(part, (box[2], size[1]), mode)
                done = F.resize(part, size, mode)
                print(f"    {{{at}, {', '.join(map(str, box + size))}, {fnv(done)}}},")
    print("};\n")
    print("struct ColourReference {\n  int kind;\n  double amount;\n  uint64_t hash;\n};")
    print("constexpr ColourReference kColours[] = {")
    adjust = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
    for kind, function in enumerate(adjust):
        for amount in ((-0.5, -0.3, -0.01, 0.0, 0.1, 0.25, 0.5) if kind == 3 else (0.0, 0.3, 0.6, 1.0, 1.37, 2.5)):
            print(f"    {{{kind}, {amount}, {fnv(function(image, amount))}}},")
    print(f"    {{4, 0, {fnv(F.hflip(image))}}},\n    {{5, 0, {fnv(F.vflip(image))}}},")
    print(f"    {{6, 0, {fnv(F.center_crop(image, (32, 32)))}}},\n}};")


main()
