// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "compiler/import/tensor/ExternalData.h"
#include "compiler/import/tensor/ShapeMath.h"
#include "compiler/import/tensor/TensorData.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <cstring>

namespace dlc::import {
namespace {

/// An operand that is always a weight; a product's left one may be a state.
bool isWeight(const Use &use) {
  const std::string &op = use.node->op_type();
  if (op == "Conv" || op == "ConvTranspose" || op == "BatchNormalization" ||
      op == "Gemm")
    return use.slot >= 1;
  return op == "MatMul" && use.slot == 1;
}

class WeightFiller {
public:
  explicit WeightFiller(OnnxFile &file) : file(file), edit(file) {}

  Status run() {
    std::vector<const onnx::NodeProto *> makers;
    for (const auto &node : edit.graph.node())
      if (node.op_type() == "ConstantOfShape")
        makers.push_back(&node);
    for (const auto *node : makers)
      DLC_TRY(fill(*node).withContext(describe(*node)));
    edit.close();
    DLC_ASSIGN(file.nodes, sortedNodes(edit.graph));
    return {};
  }

private:
  Status fill(const onnx::NodeProto &node) {
    const auto uses = edit.uses(node.output(0));
    const Weight *dims = edit.weight(node.input(0));
    if (uses.empty() || edit.isFixed(node.output(0)) || !dims ||
        !std::ranges::all_of(uses, isWeight) || dims->dtype != DType::I64 ||
        dims->shape.size() != 1)
      return {};
    std::vector<int64_t> shape(size_t(dims->elements()));
    std::memcpy(shape.data(), dims->data, dims->bytes);
    DLC_ASSIGN(auto element, elementOf(node));
    if (!isFloat(element.find("element")->dtype) ||
        std::ranges::any_of(shape, [](auto d) { return d < 1; }))
      return {};
    return add(node, shape, *element.find("element"));
  }

  /// The value of all elements, as a tensor named "element".
  Result<WeightStore> elementOf(const onnx::NodeProto &node) {
    WeightStore store;
    store.own("element", DType::F32, {1}, std::string(sizeof(float), '\0'));
    for (const auto &attribute : node.attribute())
      if (attribute.name() == "value") {
        if (attribute.t().data_location() == onnx::TensorProto::EXTERNAL)
          return badModel("a value with external data is not supported");
        ExternalData none("", file.budget);
        DLC_TRY(addTensor(attribute.t(), "element", none, store));
      }
    if (store.find("element")->elements() != 1)
      return badModel("value has {} elements, expected 1",
                      store.find("element")->elements());
    return store;
  }

  Status add(const onnx::NodeProto &node, std::vector<int64_t> shape,
             const Weight &element) {
    constexpr uint64_t kFilledAtOnce = 4; // elements per step
    const std::string name = node.output(0);
    DLC_ASSIGN(auto count, countElements(shape, "a weight"));
    DLC_TRY(
        file.budget.work(uint64_t(count) / kFilledAtOnce, "filling a weight"));
    const size_t bytes = size_t(count) * sizeOf(element.dtype);
    DLC_ASSIGN(auto memory, repeated({static_cast<const char *>(element.data),
                                      element.bytes},
                                     bytes));
    edit.remove(node);
    edit.addInitializer(name, {element.dtype, shape, memory.get(), bytes});
    edit.weights.keep(memory);
    declareInitializer(*file.model, *edit.graph.initializer().rbegin());
    file.decisions.push_back(
        {name, "filled", "is a weight, which the file has as one number"});
    return {};
  }

  OnnxFile &file;
  GraphEdit edit;
};

} // namespace

Status fillWeights(OnnxFile &file) {
  const bool isNeeded = std::ranges::any_of(file.nodes, [](const auto *node) {
    return node->op_type() == "ConstantOfShape";
  });
  return isNeeded ? WeightFiller(file).run() : Status();
}

} // namespace dlc::import
