// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/roles/LayerSearch.h"
#include "compiler/import/file/Conventions.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <set>

namespace dlc::import {

bool movesElements(const onnx::NodeProto &node) {
  static const std::set<std::string> moves = {
      "Identity", "Transpose",      "Reshape",         "Cast",  "CastLike",
      "Squeeze",  "Unsqueeze",      "Flatten",         "Slice", "Expand",
      "Split",    "QuantizeLinear", "DequantizeLinear"};
  return moves.count(node.op_type()) > 0;
}

const onnx::NodeProto *LayerSearch::layerBehind(const onnx::NodeProto &node,
                                                int slot) const {
  if ((node.op_type() != "Add" && node.op_type() != "Mul") ||
      node.input_size() != 2)
    return nullptr;
  const auto *from = producerOf(node.input(1 - slot));
  if (!from)
    return nullptr;
  if (node.op_type() == "Mul")
    return isNormalized(*from) ? from : nullptr;
  if (from->op_type() == "Mul")
    for (int i = 0; i < 2; ++i)
      if (isVector(from->input(1 - i)))
        if (const auto *norm = producerOf(from->input(i));
            norm && isNormalized(*norm))
          return norm;
  if (from->op_type() == "Add") // W x + R h + b
    return isLayer(producerOf(from->input(0))) &&
                   isLayer(producerOf(from->input(1)))
               ? producerOf(from->input(0))
               : nullptr;
  return isLayer(from) || (from->op_type() == "MatMul" &&
                           isColumnOf(*from, node.input(slot)))
             ? from
             : nullptr;
}

/// A layer without a bias.
bool LayerSearch::isLayer(const onnx::NodeProto *node) const {
  static const std::set<std::string> layers = {"Conv", "ConvTranspose",
                                               "MatMul"};
  return node && layers.count(node->op_type()) && node->input_size() == 2 &&
         file.weights.find(behind(node->input(1)));
}

const onnx::NodeProto *
LayerSearch::onlyChannelBehind(const onnx::NodeProto &node, int slot) const {
  const Weight *bias = file.weights.find(behind(node.input(slot)));
  if (node.op_type() != "Add" || node.input_size() != 2 || !bias ||
      bias->elements() != 1 || bias->shape.empty())
    return nullptr;
  const auto *layer = producerOf(node.input(1 - slot));
  const Weight *weight = layer && layer->input_size() == 2
                             ? file.weights.find(behind(layer->input(1)))
                             : nullptr;
  return weight && channelsOf(*layer, weight->shape) == 1 ? layer : nullptr;
}

/// A column [rows, 1] added to W x, with a weight matrix W of as many rows.
bool LayerSearch::isColumnOf(const onnx::NodeProto &product,
                             const std::string &vector) const {
  const Weight *matrix = file.weights.find(behind(product.input(0)));
  const Weight *column = file.weights.find(vector);
  return product.op_type() == "MatMul" && matrix && column &&
         matrix->shape.size() == 2 && column->shape.size() > 1 &&
         column->shape.back() == 1 && column->elements() == matrix->shape[0];
}

/// x / sqrt(...), or an operator that normalises.
bool LayerSearch::isNormalized(const onnx::NodeProto &node) const {
  if (node.op_type() != "Div")
    return node.op_type() == "InstanceNormalization";
  const auto *divisor = producerOf(node.input(1));
  return divisor && divisor->op_type() == "Sqrt";
}

bool LayerSearch::isVector(const std::string &name) const {
  const Weight *weight = file.weights.find(behind(name));
  return weight && weight->elements() > 1 &&
         (std::ranges::count_if(weight->shape,
                                [](int64_t d) { return d != 1; }) == 1 ||
          (weight->shape.size() == 2 && isRow(name)));
}

/// Keras has the two biases of a GRU in one matrix.
bool LayerSearch::isRow(const std::string &name) const {
  const auto *squeeze = flow.maker(name);
  const auto *split = squeeze && squeeze->op_type() == "Squeeze"
                          ? flow.maker(squeeze->input(0))
                          : nullptr;
  return split && split->op_type() == "Split";
}

std::string LayerSearch::behind(std::string value) const {
  for (int steps = 0; steps < 8; ++steps) {
    const auto *maker = flow.maker(value);
    if (!maker || !movesElements(*maker))
      break;
    value = maker->input(0);
  }
  return value;
}
const onnx::NodeProto *LayerSearch::producerOf(const std::string &value) const {
  const auto *maker = flow.maker(behind(value));
  return maker && maker->input_size() ? maker : nullptr;
}

} // namespace dlc::import
