// SPDX-License-Identifier: Apache-2.0
// Metadata that torch's dynamo exporter writes: the source call of each node,
// and the parameters of the source module.
#pragma once
#include "compiler/import/tensor/OnnxMessages.h"
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace dlc::import {

/// "%linear = call_function[target=torch.ops.aten.linear.default](args = (%x,
/// %p_fc_weight, %p_fc_bias), kwargs = {})" in the module "b.0.fc".
struct TorchCall {
  std::string value;                // "linear", the first in the note
  std::string target;               // "linear"
  std::vector<std::string> args;    // as written; tensors start with '%'
  std::string scope;                // path of the module; "" is the root module
  bool known = false;               // the node has such a note
  std::string line;                 // line of source text; "" if unknown
  std::vector<std::string> tensors; // among the arguments, without '%'
  std::unordered_map<std::string, size_t> places; // in tensors, also by target
  std::optional<std::string> only; // the only parameter or buffer in tensors
  std::set<std::string> repeated;  // tensors that the node reads repeatedly
};

/// The strings in a note's list: "['', 'b.0', 'linear']".
std::vector<std::string> quotedStrings(std::string_view text);
/// "p_conv1_weight" and "x" for "(%p_conv1_weight, %x)".
std::vector<std::string> tensorsIn(std::string_view text);

/// All notes of a graph, parsed once. Malformed notes, and names that tensors
/// cannot have, are ignored, since the file is untrusted. Queries take constant
/// time.
class TorchNotes {
public:
  explicit TorchNotes(const onnx::GraphProto &graph);

  /// Written by the dynamo exporter, which names a folded value after the
  /// operator that computed it. In files of the older exporter "mean" is a
  /// module's name.
  bool namesByOperator() const { return isNewer; }
  /// The file lists the parameters of its module.
  bool hasSignature() const { return !parameters.empty(); }
  const TorchCall &call(const onnx::NodeProto &node) const;

  /// Name in the source ("p_fc_weight", "expand_2") of the value that `node`
  /// reads as input `slot`; nullopt if the notes lack it. `own` is the input's
  /// name in the file.
  std::optional<std::string> source(const onnx::NodeProto &node, int slot,
                                    const std::string &own) const;

  /// The source's norm has no scale or shift (elementwise_affine=False, or
  /// weight=None), so the exporter generated input `slot` of `node`.
  bool isFilledIn(const onnx::NodeProto &node, int slot) const;

  /// Module's name "fc.weight" of a parameter or buffer "p_fc_weight".
  std::optional<std::string> parameter(const std::string &value) const;
  /// The number that the source adds to the parameter `leaf` in the line of
  /// `node`, if that line has no other addition: 0.5 for "scale" in "return x *
  /// (0.5 + self.scale)".
  std::optional<double> addend(const onnx::NodeProto &node,
                               const std::string &leaf) const;
  /// Buffers, and tensors that the source makes in its text or keeps as plain
  /// attributes (CONSTANT_TENSOR): the source does not train them.
  bool isBuffer(const std::string &value) const { return buffers.count(value); }
  const std::set<std::string> &bufferTargets() const { return bufferNames; }
  /// Buffers that the source's forward assigns to, by the module's names.
  const std::set<std::string> &updatedBuffers() const { return updated; }
  bool isParameterTarget(const std::string &name) const {
    return targets.count(name);
  }

  /// Second names of tied weights -> the names that nodes read them by: a
  /// module reads another module's parameter in place of its own.
  std::map<std::string, std::string> secondNames() const;
  /// Parameters of the module, by its names, that no node names, because they
  /// were folded or are unused. Second names of tied weights are excluded.
  std::set<std::string> unnamed() const;

private:
  /// Calls visit(call, name) for each parameter that a call reads.
  template <class Visit> void eachRead(Visit visit) const;
  void readSignature(const std::string &text);
  void indexTensors(TorchCall &call) const;
  void readCalls(const onnx::GraphProto &graph);

  std::map<std::string, std::string> parameters, buffers; // value -> target
  std::set<std::string> targets, bufferNames, updated;
  std::unordered_map<const onnx::NodeProto *, TorchCall> calls;
  bool isNewer = true;
  static const TorchCall none;
};

} // namespace dlc::import
