// SPDX-License-Identifier: Apache-2.0
// Finds Muls that scale the result of a norm.
#pragma once
#include "compiler/import/file/GraphEdit.h"

namespace dlc::import {

class NormScales {
public:
  explicit NormScales(const GraphEdit &edit) : edit(edit) {}
  /// The other factor of the Mul is x / sqrt(...) or a norm's result.
  bool has(const Use &use);

private:
  bool isMadeBy(const std::string &value, const char *op) const;
  const GraphEdit &edit;
  std::unordered_map<std::string, const onnx::NodeProto *> makers;
};

} // namespace dlc::import
