// SPDX-License-Identifier: Apache-2.0
// Evidence in a graph that a tensor is trained, or that it is not.
#pragma once
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/OnnxFile.h"
#include <algorithm>

namespace dlc::import {

/// A walk from a value, of a bounded number of steps.
class FlowWalk {
protected:
  FlowWalk(const OnnxFile &file, const ValueFlow &flow, int knownSteps)
      : file(file), flow(flow), knownSteps(knownSteps) {}

  /// False after too many operands.
  bool look() const { return ++looks <= kMostLooks; }
  /// Only depends on tensors of the file.
  bool isKnown(const std::string &value, int depth = 0) const;

  const OnnxFile &file;
  const ValueFlow &flow;

private:
  static constexpr int kMostLooks = 1024;
  const int knownSteps; // from an operand to the file's tensors
  mutable int looks = 0;
};

/// Returns the Add that joins a residual branch and its input,
///   x + a * f(x) * v ..., x + (f(x) * v + w),
/// where input `slot` of `node`, an Add or Mul, is the weight vector v or w of
/// `channels` elements, and the last layer of f has as many outputs; null if
/// there is none. Such are layer scale (CaiT, ConvNeXt; on the skip connection:
/// MetaFormer), response norm (ConvNeXt V2) and ReZero. Only scalars and other
/// vectors may be applied between the vector and the Add. A scalar (1 channel)
/// matches any layer. v may also scale the skip connection, v * x + f(x). Takes
/// constant time.
const onnx::NodeProto *residualBehind(const onnx::NodeProto &node, int slot,
                                      int64_t channels, const OnnxFile &file,
                                      const ValueFlow &flow);

/// Whether input `slot` of `node` is v or w of conv(x) * v + w with a
/// convolution without bias, as a norm with fixed statistics is folded.
bool isOfFoldedNorm(const onnx::NodeProto &node, int slot, const OnnxFile &file,
                    const ValueFlow &flow);

/// Whether `node` is a Concat whose inputs are all weights, such as the gates
/// of a recurrent layer, or slices, transposes or concatenations of weights;
/// false if that takes too many steps to find out. Takes constant time.
bool joinsWeights(const onnx::NodeProto &node, const OnnxFile &file,
                  const ValueFlow &flow);

/// How readers use a tensor of one element.
enum class NumberUse {
  Setting, // a limit, a ratio, a fill value of a mask ...
  Choice,  // an alternative to values: max, min, where
  Operand, // in arithmetic with values of the inputs
  Learned  // used as only learned scalars are (temperatures, gains, gates)
};

/// Learned: it is the only operand of functions that make a scale or share of
/// any number (exp of a logit scale, softplus, sigmoid of a gate), is added to
/// a product with such a scale (SigLIP's bias), or scales one side of the Add
/// that joins a branch with layers and the branch's input (ReZero, GIN).
/// Functions of it and of other constants are followed to their readers. Takes
/// constant time.
NumberUse numberUseOf(const std::string &value, const OnnxFile &file,
                      const ValueFlow &flow);

/// What tells buffers from parameters of the same name.
enum class BufferSign {
  None,   // the name is not a buffer's
  Name,   // the name alone is a buffer's
  Use,    // also the use, which a parameter may share
  Values, // also the values
};

/// Classifies the float tensor `value`, which the source may call `name`.
/// Names: running_mean, mean, pixel_std; attn_mask; pe, inv_freq, cos_cached,
/// freqs; relative_coords_table, anchors, position_ids; embed_scale. Values:
/// masks of two values, values of a formula, square roots of a width. Use:
/// statistics that normalise an input of the model before any layer (subtracted
/// mean, or divisor), statistics of a decomposed norm, frequencies whose sines
/// and cosines are computed, data operands of layers. Linear in the elements;
/// visits a bounded number of nodes.
BufferSign bufferSignOf(const std::string &value, const std::string &name,
                        const OnnxFile &file, const ValueFlow &flow);

/// Singular vector u or v that torch's spectral norm keeps beside a weight:
/// "fc.weight_u" of "fc.weight_orig", "fc.parametrizations.weight.0._u" of
/// "fc.parametrizations.weight.original".
bool isOfPowerIteration(const std::string &name, const OnnxFile &file);

/// Scale or shift that is combined with running statistics before any data, as
/// in torchvision's FrozenBatchNorm2d, and hence a buffer.
bool isOfFrozenNorm(const std::string &name, const OnnxFile &file,
                    const ValueFlow &flow);

} // namespace dlc::import
