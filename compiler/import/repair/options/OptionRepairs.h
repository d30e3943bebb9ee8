// SPDX-License-Identifier: Apache-2.0
// Repairs that options request. Each returns the number of its changes, and
// adds a summary to the file's remarks.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// --dropout: fills file.dropouts with the nodes that drop out in training, for
/// a file in inference form. "exported" and "true" enable each Dropout node
/// with its own ratio, a number enables all of them with this ratio.
/// REGEX:RATIO applies to nodes with matching names; dropout is added after
/// those that are not Dropout nodes. The first matching rule is used.
/// Code::Usage for a rule without matches. A remark says which Dropout nodes
/// stay inactive.
Result<int> findDropouts(OnnxFile &file, const std::vector<std::string> &rules);
/// Code::Usage unless it is "exported", "true", a ratio, or REGEX:RATIO.
Status checkDropout(const std::string &rule);

/// The nodes that the exporter folded a batch norm into, by the notes of
/// torch's dynamo exporter or by the generated weight names of its older one.
std::vector<const onnx::NodeProto *> foldedNorms(const OnnxFile &file);
/// --unfold-bn: adds a BatchNormalization after each of foldedNorms, or after
/// each Conv, ConvTranspose and Gemm whose name matches one of `patterns`,
/// unless there is one already. It gets scale 1, mean 0, variance 1 and the
/// layer's bias, so the output is unchanged outside of training. Its name is
/// the source's if the notes have it, else the layer's with a suffix,
/// "conv1.bn". Each norm has a Decision. Code::Usage if there is none, or if a
/// pattern matches no layer.
Result<int> renewNorms(OnnxFile &file,
                       const std::vector<std::string> &patterns);

/// --freeze-bn: lets the batch norms whose module names match one of `patterns`
/// use their running statistics in training, which then do not change.
/// Code::Usage if a pattern matches none, or one without running statistics.
Result<int> freezeNorms(OnnxFile &file,
                        const std::vector<std::string> &patterns);

/// --qat: replaces each 8-bit initializer that a DequantizeLinear reads by its
/// values as floats, followed by a QuantizeLinear; a 32-bit one, which is a
/// bias, only by floats. Their names lose the suffix "_quantized". Scales in
/// initializers are trained, with LSQ's gradients from an ai.dlc.LearnedScale
/// before their readers; zero points are constant. Code::Usage for a file
/// without such nodes; Code::BadModel, naming the node, for other types and for
/// blockwise scales.
Result<int> trainQuantized(OnnxFile &file);
/// Warns about a quantized file that is trained without --qat; else "".
std::string quantizedWeights(const OnnxFile &file);

/// --replace-head: gives the Gemm or MatMul that computes the first output
/// (followed by bias, softmax, reshapes and casts, or the loss) `classes`
/// columns: replaces its weight and bias by zeros and changes the declared
/// shape of the output. Sets `head` to the names of the new tensors, weight
/// first. Code::BadModel, naming the node found, if there is no such layer.
Result<int> replaceHead(OnnxFile &file, int64_t classes,
                        std::vector<std::string> &head);

/// --weights: gives each weight and running statistic of `file` the value of
/// the same name in a .safetensors or .onnx file, converted if its float type
/// differs. The remark has the names that either file lacks and those of
/// another shape; unless `partial`, such names are Code::BadModel. Tensors in
/// `except`, such as those of a new head, keep their values. Integers of the
/// source, such as counters, are ignored.
Result<int> loadWeights(OnnxFile &file, const std::string &path, bool partial,
                        const std::vector<std::string> &except);

/// Removes the suffix `end`, if present: "bn1.weight" without ".weight".
inline std::string withoutEnd(const std::string &name, std::string_view end) {
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : name;
}

} // namespace dlc::import
