// SPDX-License-Identifier: Apache-2.0
// The names in a file.
#pragma once
#include "runtime/base/Status.h"

namespace onnx {
class GraphProto;
class ModelProto;
} // namespace onnx

namespace dlc::import {

constexpr size_t kMaxName = 1000; // bytes of a name

/// Names must be UTF-8: they become keys of safetensors, labels in a plan and
/// text of messages. Protobuf lets a file hold any bytes. The values of
/// metadata and documentation are kept as they are.
Status checkNames(const onnx::ModelProto &model);

/// Names of values, nodes, operators, domains and attributes have at most
/// kMaxName bytes, also those that functions brought into the graph.
Status checkNameLengths(const onnx::GraphProto &graph);

} // namespace dlc::import
