// SPDX-License-Identifier: Apache-2.0
// Checks the names in a file, and lists them in messages.
#pragma once
#include "compiler/import/tensor/OnnxMessages.h"
#include "runtime/base/Status.h"
#include <string>
#include <vector>

namespace dlc::import {

constexpr size_t kMaxName = 1000; // bytes of a name

/// Names must be UTF-8: they become keys of safetensors, labels in a plan and
/// text of messages, but protobuf accepts any bytes. Values of metadata and
/// documentation are not checked.
Status checkNames(const onnx::ModelProto &model);

/// Names of values, nodes, operators, domains and attributes, including those
/// that inlined functions added, have at most kMaxName bytes.
Status checkNameLengths(const onnx::GraphProto &graph);

/// "a, b and 3 more".
std::string listed(const std::vector<std::string> &names, size_t most);
/// A line "5 WHAT: a, b and 3 more" after a line break; "" for no names.
std::string listedBelow(const char *what,
                        const std::vector<std::string> &names);

} // namespace dlc::import
