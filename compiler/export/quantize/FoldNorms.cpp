// SPDX-License-Identifier: Apache-2.0
#include "compiler/export/quantize/FoldNorms.h"

#include "compiler/export/quantize/GraphIndex.h"

#include <cmath>

namespace dlc::exporter {
namespace {

onnx::TensorProto *floats(const GraphIndex &index, const std::string &name) {
  onnx::TensorProto *tensor = index.initializer(name);
  return tensor && tensor->data_type() == onnx::TensorProto::FLOAT &&
                 !tensor->raw_data().empty()
             ? tensor
             : nullptr;
}

onnx::TensorProto *ownFloats(const GraphIndex &index, const std::string &name) {
  return index.readers(name).size() == 1 && !index.isFixed(name)
             ? floats(index, name)
             : nullptr;
}

bool fold(onnx::NodeProto &norm, GraphIndex &index) {
  onnx::NodeProto *conv = index.maker(norm.input(0));
  if (!conv || conv->op_type() != "Conv" || norm.input_size() < 5 ||
      index.readers(norm.input(0)).size() != 1 || index.isFixed(norm.input(0)))
    return false;
  onnx::TensorProto *weight = ownFloats(index, conv->input(1));
  const bool hasBias = conv->input_size() > 2 && !conv->input(2).empty();
  onnx::TensorProto *bias = ownFloats(index, conv->input(hasBias ? 2 : 1));
  onnx::TensorProto *shift = ownFloats(index, norm.input(2));
  std::vector<float> numbers[4]; // scale, shift, mean, variance
  for (int i = 0; i < 4; ++i) {
    const onnx::TensorProto *tensor = floats(index, norm.input(i + 1));
    if (!tensor)
      return false;
    numbers[i] = floatsOf(*tensor);
  }
  if (!weight || !bias || (!hasBias && !shift) || weight->dims_size() < 2)
    return false;
  const auto *attribute = attributeOf(norm, "epsilon");
  const double epsilon = attribute ? attribute->f() : 1e-5f;
  auto channels = size_t(weight->dims(0));
  for (const auto &list : numbers)
    if (list.size() != channels)
      return false;
  std::vector<float> w = floatsOf(*weight), b(channels);
  if (hasBias)
    b = floatsOf(*bias);
  const size_t each = w.size() / channels;
  for (size_t c = 0; c < channels; ++c) {
    const double s = numbers[0][c] / std::sqrt(double(numbers[3][c]) + epsilon);
    for (size_t i = c * each; i < (c + 1) * each; ++i)
      w[i] = float(w[i] * s);
    b[c] = float((double(b[c]) - numbers[2][c]) * s + numbers[1][c]);
  }
  setFloats(w, *weight);
  setFloats(b, hasBias ? *bias : *shift);
  if (!hasBias) {
    while (conv->input_size() < 3)
      conv->add_input();
    conv->set_input(2, norm.input(2));
  }
  conv->set_output(0, norm.output(0));
  return true;
}

} // namespace

int foldNorms(onnx::GraphProto &graph) {
  GraphIndex index(graph);
  auto &nodes = *graph.mutable_node();
  int kept = 0;
  const int all = nodes.size();
  for (int i = 0; i < all; ++i)
    if (nodes[i].op_type() != "BatchNormalization" || !fold(nodes[i], index))
      nodes.SwapElements(i, kept++);
  nodes.DeleteSubrange(kept, all - kept);
  dropUnread(graph);
  return all - kept;
}

} // namespace dlc::exporter
