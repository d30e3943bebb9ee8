// SPDX-License-Identifier: Apache-2.0
// Checks the names in a file.
#pragma once
#include "runtime/base/Status.h"

namespace onnx {
class GraphProto;
class ModelProto;
} // namespace onnx

namespace dlc::import {

constexpr size_t kMaxName = 1000; // bytes of a name

/// Names must be UTF-8: they become keys of safetensors, labels in a plan and
/// text of messages, but protobuf accepts any bytes. Values of metadata and
/// documentation are not checked.
Status checkNames(const onnx::ModelProto &model);

/// Names of values, nodes, operators, domains and attributes, including those
/// that inlined functions added, have at most kMaxName bytes.
Status checkNameLengths(const onnx::GraphProto &graph);

} // namespace dlc::import
