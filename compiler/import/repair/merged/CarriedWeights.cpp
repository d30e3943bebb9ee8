// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"

namespace dlc::import {
namespace {

/// Makes bodies read a weight itself that their Loop or Scan carries from step
/// to step unchanged, as TensorFlow's loops do with all that they read.
class CarriedWeights {
public:
  explicit CarriedWeights(OnnxFile &file) : file(file) {}

  void visit(onnx::GraphProto &graph) {
    for (auto &node : *graph.mutable_node())
      for (auto &attribute : *node.mutable_attribute()) {
        if (!attribute.has_g())
          continue;
        read(node, *attribute.mutable_g());
        visit(*attribute.mutable_g());
      }
  }

private:
  void read(const onnx::NodeProto &node, onnx::GraphProto &body) {
    const std::string op = operatorName(node);
    if (op != "Loop" && op != "Scan")
      return;
    const int skipped = op == "Loop" ? 1 : 0; // a body has no output of it
    std::map<std::string, std::string> names;
    for (int i = 2 * skipped; i < node.input_size(); ++i) {
      const Weight *weight = file.weights.find(node.input(i));
      if (!weight || !isFloat(weight->dtype) || i >= body.input_size() ||
          i - skipped >= body.output_size() ||
          body.output(i - skipped).name() != body.input(i).name())
        continue;
      names[body.input(i).name()] = node.input(i);
      file.decisions.push_back(
          {node.input(i), "carried",
           fmt::format("is read in {}, which carries it unchanged",
                       describe(node))});
    }
    for (auto &inner : *body.mutable_node())
      if (!names.empty())
        renameReferences(inner, names);
  }

  OnnxFile &file;
};

} // namespace

Status readCarriedWeights(OnnxFile &file) {
  CarriedWeights(file).visit(*file.model->mutable_graph());
  return {};
}

} // namespace dlc::import
