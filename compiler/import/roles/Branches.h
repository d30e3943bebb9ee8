// SPDX-License-Identifier: Apache-2.0
// Recognises vectors and scalars that scale or shift a residual branch: layer
// scale (CaiT, ConvNeXt; on the skip connection: MetaFormer), response norm
// (ConvNeXt V2), ReZero.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <functional>
#include <unordered_map>

namespace dlc::import {

/// Producers and readers of values.
struct ValueFlow {
  std::function<const onnx::NodeProto *(const std::string &)> maker;
  std::function<std::vector<const onnx::NodeProto *>(const std::string &)>
      readers;
};

/// Returns the Add that joins a residual branch and its input,
///   x + a * f(x) * v ..., x + (f(x) * v + w),
/// where input `slot` of `node`, an Add or Mul, is the weight vector v or w of
/// `channels` elements, and the last layer of f has as many outputs; null if
/// there is none. Only scalars and other vectors may be applied between the
/// vector and the Add. A scalar (1 channel) matches any layer. v may also scale
/// the skip connection, v * x + f(x). Takes constant time.
const onnx::NodeProto *residualBehind(const onnx::NodeProto &node, int slot,
                                      int64_t channels, const OnnxFile &file,
                                      const ValueFlow &flow);

/// Whether input `slot` of `node` is v or w of conv(x) * v + w with a
/// convolution without bias, as a norm with fixed statistics is folded.
bool isOfFoldedNorm(const onnx::NodeProto &node, int slot, const OnnxFile &file,
                    const ValueFlow &flow);

} // namespace dlc::import
