// SPDX-License-Identifier: Apache-2.0
// Vectors and numbers that scale or shift a residual branch: layer scale (CaiT,
// ConvNeXt; its other side: MetaFormer), response norm (ConvNeXt V2), ReZero.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <functional>
#include <unordered_map>

namespace dlc::import {

/// Who makes a value, and who reads it.
struct ValueFlow {
  std::function<const onnx::NodeProto *(const std::string &)> maker;
  std::function<std::vector<const onnx::NodeProto *>(const std::string &)>
      readers;
};

/// The Add that joins a branch to what it was made from,
///   x + a * f(x) * v ..., x + (f(x) * v + w),
/// where input `slot` of `node`, an Add or Mul, is the vector of weights v or w
/// of `channels` elements, and the last layer in f gives so many; null if there
/// is none. Between the vector and the Add nothing but numbers and further
/// vectors comes in. A number, of 1 channel, goes with any layer. Either may
/// also scale the other side, v * x + f(x). Takes constant time.
const onnx::NodeProto *residualBehind(const onnx::NodeProto &node, int slot,
                                      int64_t channels, const OnnxFile &file,
                                      const ValueFlow &flow);

/// Whether input `slot` of `node` is v or w of conv(x) * v + w, where the
/// convolution has no bias: what a norm by fixed statistics folds to.
bool isOfFoldedNorm(const onnx::NodeProto &node, int slot, const OnnxFile &file,
                    const ValueFlow &flow);

} // namespace dlc::import
