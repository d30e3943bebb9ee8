// SPDX-License-Identifier: Apache-2.0
// --unfold-bn: batch norms behind convolutions that an exporter folded them
// into.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// The nodes into which the exporter folded a batch norm, by the notes of
/// torch's dynamo exporter, or by the names that its older one makes up for
/// such weights.
std::vector<const onnx::NodeProto *> foldedNorms(const OnnxFile &file);

/// Puts a BatchNormalization behind each of foldedNorms, or behind the Conv,
/// ConvTranspose and Gemm whose names match one of `patterns`; not where there
/// is one. Outside of training it computes nothing but the layer's bias, which
/// becomes its own: scale 1, mean 0, variance 1. Named after the source's where
/// the notes say, else after the layer, "conv1.bn". Returns how many; a
/// Decision each. Code::Usage where there is none, or a pattern matches no
/// layer.
Result<int> renewNorms(OnnxFile &file,
                       const std::vector<std::string> &patterns);

} // namespace dlc::import
