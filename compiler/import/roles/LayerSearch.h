// SPDX-License-Identifier: Apache-2.0
// Layers of several nodes: a product and the sum with its bias, a norm and its
// scale. Each query takes constant time.
#pragma once
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

class LayerSearch {
public:
  LayerSearch(const OnnxFile &file, const ValueFlow &flow)
      : file(file), flow(flow) {}

  /// The norm that `node` scales or shifts, or the layer that it adds a bias
  /// to, with a weight vector as its input `slot`; else null.
  const onnx::NodeProto *layerBehind(const onnx::NodeProto &node,
                                     int slot) const;
  /// The layer without a bias whose only channel `node` adds input `slot` to, a
  /// tensor of one element, as Keras has it; of rank 0 it is a number.
  const onnx::NodeProto *onlyChannelBehind(const onnx::NodeProto &node,
                                           int slot) const;
  bool isVector(const std::string &name) const;
  /// The source of a value, through nodes that only move elements.
  std::string behind(std::string value) const;

private:
  const onnx::NodeProto *producerOf(const std::string &value) const;
  bool isLayer(const onnx::NodeProto *node) const;
  bool isColumnOf(const onnx::NodeProto &product,
                  const std::string &vector) const;
  bool isNormalized(const onnx::NodeProto &node) const;
  bool isRow(const std::string &name) const;

  const OnnxFile &file;
  const ValueFlow &flow;
};

/// The node only moves elements of its first input, or converts them.
bool movesElements(const onnx::NodeProto &node);

} // namespace dlc::import
