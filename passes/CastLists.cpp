#include "passes/CastLists.h"
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
    {"LogSoftmax", "log_softmax"},
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

/// The mnemonics that a name stands for.
SmallVector<std::string> mnemonics(StringRef name) {
  SmallVector<std::string> found;
  for (auto [onnx, mnemonic] : onnxNames)
    if (onnx == name)
      found.push_back(mnemonic.str());
  if (found.empty())
    found.push_back(llvm::convertToSnakeFromCamelCase(name));
  return found;
}

std::map<std::string, OperationName> knownOps(MLIRContext *context) {
  std::map<std::string, OperationName> known;
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.hasInterface<ir::CastPolicyInterface>())
      known.emplace(op.stripDialect().str(), op);
  return known;
}

std::string nearest(StringRef name,
                    const std::map<std::string, OperationName> &known) {
  std::string best, all;
  unsigned distance = 4;
  for (const auto &[mnemonic, op] : known) {
    if (unsigned d = name.edit_distance(mnemonic, true, distance);
        d < distance) {
      distance = d;
      best = mnemonic;
    }
    all += (all.empty() ? "" : ", ") + mnemonic;
  }
  return best.empty() ? "known are " + all
                      : "did you mean " + best + "? known are " + all;
}

} // namespace

FailureOr<CastLists> CastLists::get(Operation *where, bool fp16,
                                    ArrayRef<std::string> allow,
                                    ArrayRef<std::string> deny) {
  CastLists lists;
  lists.fp16 = fp16;
  auto known = knownOps(where->getContext());
  for (auto [names, policy] : {std::pair(allow, ir::CastPolicy::Allow),
                               std::pair(deny, ir::CastPolicy::Deny)})
    for (const std::string &name : names)
      for (const std::string &mnemonic : mnemonics(name)) {
        auto op = known.find(mnemonic);
        if (op == known.end())
          return where->emitError() << "autocast knows no op '" << name << "'; "
                                    << nearest(mnemonic, known);
        auto [entry, isNew] = lists.overrides.try_emplace(op->second, policy);
        if (!isNew && entry->second != policy)
          return where->emitError()
                 << "'" << name << "' is on both lists of autocast";
      }
  return lists;
}

ir::CastPolicy CastLists::policy(Operation *op) const {
  auto changed = overrides.find(op->getName());
  if (changed != overrides.end())
    return changed->second;
  auto asked = dyn_cast<ir::CastPolicyInterface>(op);
  return asked ? asked.castPolicy(fp16) : ir::CastPolicy::Never;
}

} // namespace dlc
