// SPDX-License-Identifier: Apache-2.0
// Batch norms of an inference form that become part of the convolution before.
#pragma once

#include "onnx-ml.pb.h"

namespace dlc::exporter {

/// Each BatchNormalization that alone reads a Conv whose weight, and whose bias
/// if there is one, it alone reads: the weight w becomes w s, the bias b
/// (b - mean) s + shift, with s = scale / sqrt(variance + epsilon) of each
/// channel, in doubles, rounded once. The weight keeps its name, and so does
/// the norm's output; a convolution without bias takes the name of the norm's
/// shift. All are f32 initializers that have raw data. Returns how many.
int foldNorms(onnx::GraphProto &graph);

} // namespace dlc::exporter
