# SPDX-License-Identifier: Apache-2.0
"""Windows, regions and places that the model computes, in forms that ONNX's node cases lack."""

import os
import sys

import numpy as np
from onnx import TensorProto

sys.path.insert(0, os.path.dirname(__file__))
import dlc
from rows_test import Rows
from support import model, node, value


class Images(Rows):
    def refused(self, nodes, inputs, message, weights=None, opset=22):
        kinds = {np.dtype(np.int64): TensorProto.INT64}
        infos = [value(k, v.shape, kinds.get(v.dtype, TensorProto.FLOAT)) for k, v in inputs.items()]
        self.assertIsNone(self.imported(model(nodes, infos, [value("y", None)], weights, opset=opset), inputs), message)
        self.assertIn(message, self.error)

    def unpool(self, more=(), **attributes):
        return [node("MaxUnpool", ["x", "i", *more], ["y"], **attributes)]

    def test_unpool_of_windows_that_overlap(self):
        """A maximum of several windows comes once."""
        x = self.floats(2, 3, 7)
        form = dict(kernel_shape=[3], strides=[2])
        nodes = [node("MaxPool", ["x"], ["p", "i"], **form), node("MaxUnpool", ["p", "i"], ["y"], **form)]
        self.compare(nodes, {"x": x}, opset=22)

    def test_unpool_with_pads_and_more_behind(self):
        x, i = self.floats(1, 2, 3, 2), np.array([[[[0, 3], [4, 7], [8, 11]], [[12, 13], [18, 19], [20, 23]]]])
        self.compare(self.unpool(kernel_shape=[2, 3], strides=[1, 2], pads=[0, 1, 1, 0]), {"x": x, "i": i}, opset=22)
        self.compare(self.unpool(["s"], kernel_shape=[2, 2], strides=[1, 2]), {"x": x, "i": i},
                     {"s": np.array([1, 2, 6, 5])}, opset=22)

    def test_unpool_that_does_not_fit(self):
        x, i = self.floats(1, 2, 3), np.zeros((1, 2, 3), np.int64)
        form = dict(kernel_shape=[2], strides=[2])
        self.refused(self.unpool(**form), {"x": x, "i": i[:, :, :2]}, "indices of shape [1, 2, 2] for an input of shape [1, 2, 3]")
        for size in [1, 2, 5], [1, 3, 6], [1, 2, 6, 1]:
            self.refused(self.unpool(["s"], **form), {"x": x, "i": i},
                         f"output_shape {size} does not fit, expected at least [1, 2, 6]", {"s": np.array(size)})
        self.refused(self.unpool(kernel_shape=[1], strides=[1], pads=[2, 2]), {"x": x, "i": i}, "expected at least [1, 2, -1]")

    def deform(self, *more, **attributes):
        return [node("DeformConv", ["x", "w", "o", *more], ["y"], **attributes)]

    def test_deform_conv_without_offsets_is_a_conv(self):
        for x, w in ((2, 4, 9), (6, 2, 3)), ((1, 4, 5, 4, 6), (2, 2, 2, 3, 2)):
            x, w, bias = self.floats(*x), self.floats(*w), self.floats(w[0])
            form = dict(strides=[2] * (x.ndim - 2), pads=[1] * 2 * (x.ndim - 2), group=2)
            infos = [value("x", x.shape)]
            conv = model([node("Conv", ["x", "w", "b"], ["y"], **form)], infos, [value("y", None)], {"w": w, "b": bias}, opset=22)
            expected = self.imported(conv, {"x": x})["y"]
            taps = int(np.prod(w.shape[2:]))
            offset = np.zeros((x.shape[0], 2 * taps * (x.ndim - 2), *expected.shape[2:]), np.float32)
            proto = model(self.deform("b", offset_group=2, **form), infos, [value("y", None)], {"w": w, "o": offset, "b": bias}, opset=22)
            found = self.imported(proto, {"x": x})
            self.assertIsNotNone(found, self.error)
            self.near(found["y"], expected, "DeformConv")

    def test_deform_conv_that_does_not_fit(self):
        x, w = self.floats(1, 4, 3, 3), self.floats(2, 2, 2, 2)
        offset = self.floats(1, 8, 2, 2)
        inputs = {"x": x, "w": w, "o": offset}
        self.refused(self.deform(), inputs, "weights of shape [2, 2, 2, 2] in 1 groups and 1 groups of offsets do not fit")
        self.refused(self.deform(group=2, offset_group=3), inputs, "3 groups of offsets do not fit to an input of shape [1, 4, 3, 3]")
        self.refused(self.deform(group=2, offset_group=2), inputs, "input 2 has shape [1, 8, 2, 2], expected [1, 16, 2, 2]")
        self.refused(self.deform("", "m", group=2), {**inputs, "m": self.floats(1, 4, 2, 1)},
                     "input 4 has shape [1, 4, 2, 1], expected [1, 4, 2, 2]")
        self.refused(self.deform("b", group=2), {**inputs, "b": self.floats(3)}, "a bias of shape [3] for 2 channels")
        self.refused(self.deform(group=2, dilations=[3, 1]), inputs, "a window of [2, 2] does not fit into an input of shape [1, 4, 3, 3]")

    def align(self, **attributes):
        return [node("RoiAlign", ["x", "r", "b"], ["y"], **attributes)]

    def test_as_many_samples_as_a_region_is_large(self):
        """Inside of the image, over its border, around all of it, beside it, thin, of no size and turned round."""
        x = self.floats(2, 3, 9, 7)
        corners = np.array([[1, 2, 5, 8], [-4, -2, 3, 4], [-90, -50, 100, 60], [20, 20, 40, 44], [2.2, 1, 2.21, 9], [3, 3, 3, 3],
                            [5, 5, 2, 1], [0, 0, 7, 9], [0.5, 0.5, 3.5, 6.5]], np.float32)
        batch = np.arange(len(corners)) % 2
        for mode in "half_pixel", "output_half_pixel":
            for scale, height, width in (1.0, 2, 3), (0.5, 1, 1), (1.7, 3, 2):
                with self.subTest(mode=mode, scale=scale):
                    nodes = self.align(sampling_ratio=0, spatial_scale=scale, output_height=height, output_width=width,
                                       coordinate_transformation_mode=mode)
                    self.compare(nodes, {"x": x, "r": corners, "b": batch}, opset=22)

    def test_maxima_of_regions(self):
        x, corners = self.floats(2, 3, 6, 5), np.array([[0, 1, 4, 4], [-2, 0, 9, 3], [1.5, 2, 3, 2.5]], np.float32)
        for samples in 1, 3:
            self.compare(self.align(sampling_ratio=samples, mode="max", output_height=2, output_width=3),
                         {"x": x, "r": corners, "b": np.array([1, 0, 1])}, opset=22)

    def test_regions_that_are_refused(self):
        inputs = {"x": self.floats(1, 1, 3, 3), "r": self.floats(2, 4), "b": np.zeros(2, np.int64)}
        self.refused(self.align(mode="max"), inputs, "sampling_ratio 0 is not supported in mode max: how many samples a bin has is known")
        self.refused(self.align(mode="min"), inputs, "mode 'min' is not supported, expected avg or max")
        for samples in -1, 65:
            self.refused(self.align(sampling_ratio=samples), inputs, f"sampling_ratio {samples} is not supported, expected 0 to 64")
        self.refused(self.align(), {**inputs, "r": self.floats(2, 5)},
                     "regions of shape [2, 5] for results of 1 x 1 do not fit to an input of shape [1, 1, 3, 3]")
        self.refused([node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[2])], {"x": inputs["x"], "r": self.floats(2, 5)},
                     "regions of shape [2, 5] and pooled_shape [2] are not supported, expected 5 numbers a region and 2 sizes")


if __name__ == "__main__":
    dlc.main()
