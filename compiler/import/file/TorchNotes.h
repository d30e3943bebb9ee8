// SPDX-License-Identifier: Apache-2.0
// What torch's dynamo exporter notes in a file: which call of the source each
// node came from, and the parameters of the source module.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace onnx {
class GraphProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

/// "%linear = call_function[target=torch.ops.aten.linear.default](args = (%x,
/// %p_fc_weight, %p_fc_bias), kwargs = {})" in the module "b.0.fc".
struct TorchCall {
  std::string value;                // "linear", the first of the note
  std::string target;               // "linear"
  std::vector<std::string> args;    // as written; tensors start with '%'
  std::string scope;                // path of the module; "" is the root
  bool known = false;               // the node has such a note
  std::string line;                 // of the source's text; "" if not said
  std::vector<std::string> tensors; // among the arguments, without '%'
  std::unordered_map<std::string, size_t> places; // in tensors, also by target
  std::optional<std::string> only; // parameter or buffer among the tensors
  std::set<std::string> repeated;  // what the node reads more than once
};

/// All notes of a graph, read once. Anything malformed reads as absent, and so
/// do names that no tensor may have: notes are hints of an untrusted file.
/// Queries take constant time.
class TorchNotes {
public:
  explicit TorchNotes(const onnx::GraphProto &graph);

  /// The newer exporter wrote the file: it calls a value that it folded by the
  /// operator that gave it. In a file of the older one "mean" is a module's.
  bool namesByOperator() const { return isNewer; }
  /// The file says which parameters its module has.
  bool hasSignature() const { return !parameters.empty(); }
  const TorchCall &call(const onnx::NodeProto &node) const;

  /// The value of the source that `node` reads as its input `slot`, by the
  /// source's name ("p_fc_weight", "expand_2"); nothing where the notes do not
  /// say. `own` is the input's name in the file.
  std::optional<std::string> source(const onnx::NodeProto &node, int slot,
                                    const std::string &own) const;

  /// The source's norm has no scale or shift of its own (its
  /// elementwise_affine=False, or weight=None), so that the exporter made up
  /// what `node` reads as its input `slot`.
  bool isFilledIn(const onnx::NodeProto &node, int slot) const;

  /// The module's own name of a parameter or buffer "p_fc_weight": "fc.weight".
  std::optional<std::string> parameter(const std::string &value) const;
  /// The number that the source adds to the parameter `leaf` in the line that
  /// `node` came from, if that line adds nothing else: 0.5 for "scale" in
  /// "return x * (0.5 + self.scale)".
  std::optional<double> addend(const onnx::NodeProto &node,
                               const std::string &leaf) const;
  bool isBuffer(const std::string &value) const { return buffers.count(value); }
  const std::set<std::string> &bufferTargets() const { return bufferNames; }
  bool isParameterTarget(const std::string &name) const {
    return targets.count(name);
  }

  /// Parameters of the module, by its own names, that no node names: folded
  /// into constants or not used. Those that are another parameter under a
  /// second name (tied weights) are left out.
  std::set<std::string> unnamed() const;

private:
  void readSignature(const std::string &text);
  void indexTensors(TorchCall &call) const;
  void readCalls(const onnx::GraphProto &graph);

  std::map<std::string, std::string> parameters, buffers; // value -> target
  std::set<std::string> targets, bufferNames;
  std::unordered_map<const onnx::NodeProto *, TorchCall> calls;
  bool isNewer = true;
  static const TorchCall none;
};

} // namespace dlc::import
