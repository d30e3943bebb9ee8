// SPDX-License-Identifier: Apache-2.0
// --unfold-bn: adds batch norms after convolutions that an exporter folded them
// into.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// The nodes that the exporter folded a batch norm into, by the notes of
/// torch's dynamo exporter or by the generated weight names of its older one.
std::vector<const onnx::NodeProto *> foldedNorms(const OnnxFile &file);

/// Adds a BatchNormalization after each of foldedNorms, or after each Conv,
/// ConvTranspose and Gemm whose name matches one of `patterns`, unless there is
/// one already. It gets scale 1, mean 0, variance 1 and the layer's bias, so
/// the output is unchanged outside of training. Its name is the source's if the
/// notes have it, else the layer's with a suffix, "conv1.bn". Returns the
/// number of norms, each of which has a Decision. Code::Usage if there is none,
/// or if a pattern matches no layer.
Result<int> renewNorms(OnnxFile &file,
                       const std::vector<std::string> &patterns);

} // namespace dlc::import
