// SPDX-License-Identifier: Apache-2.0
#include "passes/autocast/CastNames.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Locations.h"
#include "compiler/dialect/ops/Recurrence.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {
namespace {

/// ONNX operators whose mnemonic is not their name in snake case.
const std::pair<StringRef, StringRef> onnxNames[] = {
    {"Gemm", "matmul"},
    {"MatMul", "matmul"},
    {"ArgMax", "argmax"},
    {"AveragePool", "avg_pool"},
    {"GlobalAveragePool", "reduce_mean"},
    {"BatchNormalization", "batch_norm"},
    {"BatchNormalization", "batch_norm_infer"},
    {"LayerNormalization", "layer_norm"},
    {"SoftmaxCrossEntropyLoss", "softmax_cross_entropy"},
    {"Where", "select"},
    {"Expand", "broadcast"},
    {"Flatten", "reshape"},
    {"Squeeze", "reshape"},
    {"Unsqueeze", "reshape"},
    {"Split", "slice"},
    {"Equal", "compare"},
    {"Greater", "compare"},
    {"Less", "compare"},
};

template <class Op> void addName(std::vector<std::string> &names) {
  StringRef name = Op::getOperationName();
  if constexpr (requires { Op::castPolicy(false); })
    if (Op::castPolicy(true) != ir::CastPolicy::Never &&
        !name.contains("_backward"))
      names.push_back(name.split('.').second.str());
}
template <class... Ops> std::vector<std::string> namesOf() {
  std::vector<std::string> names;
  (addName<Ops>(names), ...);
  llvm::sort(names);
  return names;
}

} // namespace

const std::vector<std::string> &castableOps() {
  static const std::vector<std::string> names = namesOf<
#define GET_OP_LIST
#include "compiler/dialect/DlcOps.cpp.inc"
      , ir::LstmOp, ir::GruOp, ir::RnnOp>();
  return names;
}

std::vector<std::string> castableOps(StringRef name) {
  std::vector<std::string> found;
  for (auto [onnx, mnemonic] : onnxNames)
    if (onnx == name)
      found.push_back(mnemonic.str());
  if (!found.empty())
    return found;
  std::string mnemonic = llvm::convertToSnakeFromCamelCase(name);
  return llvm::is_contained(castableOps(), mnemonic)
             ? std::vector<std::string>{mnemonic}
             : found;
}

bool comesFrom(Operation *op, StringRef onnxOperator) {
  WalkResult walked = op->getLoc()->walk([&](Location loc) {
    auto fused = dyn_cast<FusedLocWith<StringAttr>>(loc);
    return fused && fused.getMetadata().getValue() == onnxOperator
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walked.wasInterrupted();
}

SmallVector<StringRef> operatorsOf(Operation *op) {
  SmallVector<StringRef> operators;
  auto fused = dyn_cast<FusedLoc>(op->getLoc());
  while (fused) {
    if (fused.getLocations().size() != 1)
      return {};
    if (auto name = dyn_cast_or_null<StringAttr>(fused.getMetadata()))
      operators.push_back(name.getValue());
    fused = dyn_cast<FusedLoc>(fused.getLocations().front());
  }
  return operators;
}

std::vector<std::string> nodesOf(Operation *op) {
  auto names = ir::nodeNames(op->getLoc());
  return {names.begin(), names.end()};
}

} // namespace dlc
