// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Outputs.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/options/Pattern.h"
#include <set>
#include <unordered_map>

using namespace mlir;

namespace dlc::import {
namespace {

/// Names that --features accepts, and the tensor of each.
class Features {
public:
  explicit Features(const OnnxFile &file) {
    for (const onnx::NodeProto *node : file.nodes)
      for (const std::string &output : node->output())
        if (!output.empty())
          add(output, output);
    // Names of tensors take precedence over names of nodes.
    for (const onnx::NodeProto *node : file.nodes)
      for (const std::string &output : node->output())
        if (!output.empty() && !node->name().empty()) {
          add(node->name(), output);
          break;
        }
  }

  Result<std::string> find(const std::string &name) const {
    if (auto it = tensors.find(name); it != tensors.end())
      return it->second;
    return usageError("--features={}: no node of the model's main graph has "
                      "this name or makes a tensor of it{}",
                      name, nearbyNames(name, names));
  }

private:
  void add(const std::string &name, const std::string &tensor) {
    if (tensors.emplace(name, tensor).second)
      names.push_back(name);
  }

  std::unordered_map<std::string, std::string> tensors;
  std::vector<std::string> names; // in the model's order
};

/// Outputs computed by an operator that is a loss.
std::set<std::string> lossesOf(const OnnxFile &file) {
  std::set<std::string> losses;
  for (const auto *node : file.nodes)
    if ((node->op_type() == "SoftmaxCrossEntropyLoss" ||
         node->op_type() == "NegativeLogLikelihoodLoss") &&
        node->output_size())
      losses.insert(node->output(0));
  return losses;
}

/// Only the rank is declared: sizes are the program's, not the model's.
void declare(onnx::ValueInfoProto &output, RankedTensorType type,
             const NarrowTypes &narrow) {
  auto &tensor = *output.mutable_type()->mutable_tensor_type();
  auto held = narrow.find(output.name());
  tensor.set_elem_type(held != narrow.end()
                           ? held->second
                           : toOnnxType(toDType(type.getElementType())));
  auto &shape = *tensor.mutable_shape();
  for (int64_t d = 0; d < type.getRank(); ++d)
    shape.add_dim();
}

} // namespace

Result<int> addFeatures(OnnxFile &file,
                        const std::vector<std::string> &features) {
  onnx::GraphProto &graph = *file.model->mutable_graph();
  std::unordered_map<std::string, const onnx::ValueInfoProto *> declared;
  for (const auto &value : graph.value_info())
    declared.emplace(value.name(), &value);
  std::set<std::string> outputs;
  for (const auto &output : graph.output())
    outputs.insert(output.name());
  const Features known(file);
  for (const std::string &feature : features) {
    DLC_ASSIGN(std::string tensor, known.find(feature));
    if (!outputs.insert(tensor).second)
      continue;
    auto &output = *graph.add_output();
    if (auto it = declared.find(tensor);
        it != declared.end() && it->second->type().tensor_type().has_shape())
      output = *it->second;
    output.set_name(tensor);
  }
  return int(features.size());
}

void describeOutputs(func::FuncOp predict, OnnxFile &file,
                     const NarrowTypes &narrow) {
  Builder builder(predict.getContext());
  const std::set<std::string> losses = lossesOf(file);
  SmallVector<DictionaryAttr> attributes;
  auto &outputs = *file.model->mutable_graph()->mutable_output();
  for (auto [output, type] : llvm::zip(outputs, predict.getResultTypes())) {
    NamedAttrList list;
    list.set("dlc.name", builder.getStringAttr(output.name()));
    if (losses.count(output.name()))
      list.set("dlc.loss", builder.getUnitAttr());
    attributes.push_back(list.getDictionary(predict.getContext()));
    if (!output.has_type())
      declare(output, cast<RankedTensorType>(type), narrow);
  }
  predict.setAllResultAttrs(attributes);
}

} // namespace dlc::import
