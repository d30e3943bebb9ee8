// SPDX-License-Identifier: Apache-2.0
#include "passes/autocast/CastLists.h"
#include "passes/Step.h"
#include "passes/autocast/CastNames.h"

using namespace mlir;
using dlc::ir::CastPolicy;

namespace dlc {
namespace {

struct Change {
  const char *name; // a mnemonic, or an ONNX operator that becomes several ops
  CastPolicy policy;
};
struct Preset {
  const char *name;
  bool promotes, paintsTails, emptyDeny;
  std::vector<Change> changes;
};

constexpr CastPolicy Allow = CastPolicy::Allow, Deny = CastPolicy::Deny,
                     Infer = CastPolicy::Infer, Clear = CastPolicy::Clear;

/// Operators that become several ops, which by themselves would be on the infer
/// list: their values need f32, as those of log and pow do, under fp16 only or
/// also under bf16. Ops that only move elements are not changed.
struct Composed {
  const char *name;
  bool underBf16;
};
const Composed composed[] = {
    {"CumSum", true},
    {"CumProd", true},
    {"ReduceProd", true},
    {"ReduceL2", true},
    {"ReduceLogSum", true},
    {"ReduceLogSumExp", true},
    {"GlobalLpPool", true},
    {"LpNormalization", true},
    {"MeanVarianceNormalization", true},
    {"Resize", true},
    {"Acos", true},
    {"Acosh", true},
    {"Asin", true},
    {"Atanh", true},
    {"Det", true},
    {"DFT", true},
    {"STFT", true},
    {"ReduceL1", false},
    {"ReduceSumSquare", false},
    {"LpPool", false},
    {"LRN", false},
    {"Asinh", false},
    {"Cosh", false},
    {"Sinh", false},
    {"Tan", false},
};

/// The list of an op by its own record and by the operators that it was built
/// for; nothing if autocast does not decide about it.
CastPolicy policyOf(Operation *op, bool fp16) {
  auto asked = dyn_cast<ir::CastPolicyInterface>(op);
  if (!asked)
    return CastPolicy::Never;
  const CastPolicy own = asked.castPolicy(fp16);
  if (own == CastPolicy::Never || own == CastPolicy::Clear)
    return own;
  for (StringRef name : operatorsOf(op))
    for (const Composed &operation : composed)
      if (name == operation.name && (fp16 || operation.underBf16))
        return CastPolicy::Deny;
  return own;
}

/// dlc: the policies of compiler/dialect/*.td, and `composed`, as they are.
/// torch: ATen/autocast_mode.h, the lists for CUDA.
/// tf: grappler/optimizers/auto_mixed_precision_lists.h.
/// oneflow: job_rewriter/auto_mixed_precision_lists.cpp; its deny list is
/// empty, because its kernels sum up in f32.
const Preset presets[] = {
    {"dlc", false, false, false, {}},
    {"torch",
     true,
     false,
     false,
     {{"exp", Deny},
      {"rsqrt", Deny},
      {"reciprocal", Deny},
      {"softplus", Deny},
      {"pow", Deny},
      {"reduce_sum", Deny},
      {"softmax", Deny},
      {"layer_norm", Deny},
      {"PRelu", Allow},
      {"RMSNormalization", Deny},
      {"GroupNormalization", Deny},
      {"Resize", Deny},
      {"Sinh", Deny},
      {"Cosh", Deny},
      {"Tan", Deny},
      {"Acosh", Infer}, // on none of PyTorch's lists
      {"Asinh", Infer},
      {"Atanh", Infer},
      {"ReduceL1", Deny},
      {"ReduceL2", Deny},
      {"ReduceSumSquare", Deny},
      {"Mish", Infer},
      {"Elu", Infer},
      {"Selu", Infer}}},
    {"tf",
     false,
     false,
     false,
     {{"reduce_mean", Deny},
      {"ReduceProd", Infer},
      {"reduce_sum", Deny},
      {"exp", Deny},
      {"pow", Deny},
      {"log", Infer},
      {"log_softmax", Infer},
      {"softplus", Infer},
      {"reciprocal", Infer}}},
    {"oneflow", false, true, true, {}},
};

const Preset *findPreset(StringRef name) {
  for (const Preset &preset : presets)
    if (preset.name == name)
      return &preset;
  return nullptr;
}

std::string mnemonicOf(Operation *op) {
  return op->getName().stripDialect().str();
}

const char *listName(CastPolicy policy) {
  const char *names[] = {"allow list", "infer list", "deny list", "clear list",
                         "never cast"};
  return names[(int)policy];
}

} // namespace

FailureOr<CastLists> CastLists::get(Operation *where, const AmpOptions &o) {
  CastLists lists;
  lists.fp16 = o.dtype == "fp16";
  if (!lists.fp16 && o.half() != "bf16")
    return where->emitError() << "autocast to '" << o.dtype
                              << "' is not known, expected bf16, fp16 or fp8";
  if (o.level != "O1" && o.level != "O2" && o.level != "O3")
    return where->emitError() << "autocast at level '" << o.level
                              << "' is not known, expected O1, O2 or O3";
  const Preset *preset = findPreset(o.preset);
  if (!preset)
    return where->emitError()
           << "autocast by '" << o.preset
           << "' is not known, expected dlc, torch, tf or oneflow";
  lists.level = o.level;
  lists.preset = o.preset;
  lists.all = o.level != "O1";
  if (failed(lists.add(where, o.allow, Allow)) ||
      failed(lists.add(where, o.deny, Deny)) ||
      failed(lists.add(where, o.infer, Infer)) ||
      failed(lists.add(where, o.clear, Clear)) ||
      failed(lists.addRules(where, o.nodes)))
    return failure();
  if (!lists.all)
    for (const Change &change : preset->changes) {
      Table &table =
          castableOps(change.name).empty() ? lists.byOperator : lists.byOp;
      table.try_emplace(
          change.name,
          Listed{change.policy,
                 std::string(listName(change.policy)) + " of " + preset->name,
                 false});
    }
  return lists;
}

LogicalResult CastLists::add(Operation *where,
                             const std::vector<std::string> &names,
                             CastPolicy policy) {
  std::string flag = ("--amp-" + ir::stringifyCastPolicy(policy) + "=").str();
  for (const std::string &name : names) {
    std::vector<std::string> ops = castableOps(name);
    bool isOperator = ops.empty() && !name.empty() &&
                      isupper(static_cast<unsigned char>(name[0]));
    if (isOperator)
      ops.push_back(name);
    if (ops.empty())
      return where->emitError() << "autocast knows no op '" << name << "'";
    for (const std::string &op : ops) {
      auto [old, isNew] =
          (isOperator ? byOperator : byOp)
              .try_emplace(op, Listed{policy, flag + name, true});
      if (!isNew && old->second.policy != policy)
        return where->emitError()
               << "one op is on two lists of autocast: " << old->second.by
               << " and " << flag << name;
    }
  }
  return success();
}

LogicalResult CastLists::addRules(Operation *where,
                                  const std::vector<std::string> &texts) {
  for (const std::string &text : texts) {
    auto [pattern, type] = StringRef(text).rsplit(':');
    if (pattern.empty() || (type != "f32" && type != "half"))
      return where->emitError()
             << "--amp-node: expected REGEX:f32 or REGEX:half, found '" << text
             << "'";
    auto parsed = Pattern::parse(pattern.str());
    if (!parsed)
      return where->emitError() << "--amp-node: " << parsed.status().message();
    rules.push_back({"--amp-node=" + text, *parsed, type == "half"});
  }
  return success();
}

const NodeRule *CastLists::findRule(Operation *op) const {
  if (rules.empty())
    return nullptr;
  std::vector<std::string> nodes = nodesOf(op);
  for (const NodeRule &rule : rules)
    for (const std::string &node : nodes)
      if (rule.pattern.search(node))
        return &rule;
  return nullptr;
}

CastEntry CastLists::entry(Operation *op) const {
  CastEntry own = ownEntry(op);
  if (own.policy == CastPolicy::Never)
    return own;
  if (const NodeRule *rule = findRule(op))
    return {rule->half ? Allow : Deny, rule->text, true, true};
  if (op->hasAttr(kLossMark))
    return {Deny, "loss", true};
  for (const auto &[name, listed] : byOperator)
    if (comesFrom(op, name))
      return {listed.policy, listed.by, false, listed.asked};
  auto listed = byOp.find(mnemonicOf(op));
  if (listed != byOp.end())
    return {listed->second.policy, listed->second.by, false,
            listed->second.asked};
  return own;
}

CastEntry CastLists::ownEntry(Operation *op) const {
  const CastPolicy policy = policyOf(op, fp16);
  if (policy == CastPolicy::Never)
    return {policy, listName(policy)};
  if (all)
    return policyOf(op, false) == Deny ? CastEntry{Deny, listName(Deny)}
                                       : CastEntry{Allow, level};
  if (policy == Deny && findPreset(preset)->emptyDeny)
    return {Infer, "infer list of oneflow"};
  return {policy, listName(policy)};
}

bool CastLists::promotes() const {
  return !all && findPreset(preset)->promotes;
}
bool CastLists::paintsTails() const {
  return !all && findPreset(preset)->paintsTails;
}

} // namespace dlc
