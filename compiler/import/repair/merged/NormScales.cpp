// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/merged/NormScales.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

bool NormScales::isMadeBy(const std::string &value, const char *op) const {
  auto maker = makers.find(value);
  return maker != makers.end() && maker->second->op_type() == op;
}

bool NormScales::has(const Use &use) {
  if (makers.empty())
    for (const auto &node : edit.graph.node())
      for (const std::string &output : node.output())
        makers[output] = &node;
  const std::string &factor = use.node->input(1 - use.slot);
  if (isMadeBy(factor, "RMSNormalization"))
    return true;
  if (isMadeBy(factor, "Div"))
    return isMadeBy(makers[factor]->input(1), "Sqrt");
  return isMadeBy(factor, "Mul") &&
         (isMadeBy(makers[factor]->input(0), "Reciprocal") ||
          isMadeBy(makers[factor]->input(1), "Reciprocal"));
}

} // namespace dlc::import
