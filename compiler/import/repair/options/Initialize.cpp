// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/options/Initialize.h"
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/ValueFlow.h"
#include "onnx-ml.pb.h"
#include "runtime/base/options/Pattern.h"
#include <cmath>
#include <fmt/ranges.h>

namespace dlc::import {
namespace {

/// Role of a weight in the layer that reads it.
struct Usage {
  enum Kind { Unknown, Weight, Scale, Shift } kind = Unknown;
  bool inputsFirst = false; // Weight: [in, out] instead of [out, in]
};

/// Follows each reader of an initializer through nodes that only move elements.
class Usages {
public:
  explicit Usages(const OnnxFile &file) {
    for (const auto *node : file.nodes)
      flow.add(*node);
  }

  Usage find(const std::string &name, int depth = 0) const {
    if (depth > 8)
      return {};
    for (const auto &[node, input] : flow.readers(name)) {
      Usage usage = of(*node, input);
      if (usage.kind == Usage::Unknown && input == 0 && passesOn(*node)) {
        usage = find(node->output(0), depth + 1);
        usage.inputsFirst ^= node->op_type() == "Transpose";
      }
      if (usage.kind != Usage::Unknown)
        return usage;
    }
    return {};
  }

private:
  static bool passesOn(const onnx::NodeProto &node) {
    const std::string &op = node.op_type();
    return node.output_size() &&
           (op == "Transpose" || op == "Identity" || op == "Cast");
  }
  static Usage of(const onnx::NodeProto &node, int input) {
    static const InputBits weights = {
        {"Attention", 0b10},   {"Conv", 0b10}, {"ConvTranspose", 0b10},
        {"FusedMatMul", 0b10}, {"Gemm", 0b11}, {"MatMul", ~0U}};
    static const std::set<std::string> shifted = {"Attention", "Conv",
                                                  "ConvTranspose", "Gemm"};
    const std::string &op = node.op_type();
    const bool embeds = op == "EmbedLayerNormalization";
    if ((embeds && input < 5) ||
        (op == "Attention" && node.domain() != "com.microsoft"))
      return {};
    const NodeView view(node, 0);
    if (hasInput(weights, node, input))
      return {Usage::Weight, !op.starts_with("Conv") &&
                                 (input == 1 ? !view.integer("transB", 0)
                                             : view.integer("transA", 0) != 0)};
    if (op.ends_with("Normalization")) // x, scale, bias, mean, variance
      return {input == (embeds ? 5 : 1) || input == 4 ? Usage::Scale
                                                      : Usage::Shift};
    return {shifted.count(op) ? Usage::Shift : Usage::Unknown};
  }

  ValueFlow flow;
};

/// The kind of a vector in an untrained layer.
std::string untrained(const std::string &name, const Usage &usage) {
  if (usage.kind == Usage::Scale)
    return "ones";
  bool bias = name == "bias" || name.ends_with(".bias");
  return usage.kind == Usage::Shift || bias ? "zeros" : "keep";
}

Fans weightFans(const Weight &weight, const Usage &usage) {
  Fans fans = fansOf(weight.shape);
  if (usage.inputsFirst && weight.shape.size() == 2)
    std::swap(fans.in, fans.out);
  return fans;
}

struct Matcher {
  Pattern pattern;
  InitKind kind;
  std::string text;
  bool used = false;
};

Result<std::vector<Matcher>> compile(const std::vector<std::string> &rules) {
  std::vector<Matcher> matchers;
  for (const std::string &text : rules) {
    DLC_ASSIGN(InitRule rule, InitRule::parse(text));
    DLC_ASSIGN(Pattern pattern, Pattern::parse(rule.pattern));
    matchers.push_back({std::move(pattern), rule.kind, text});
  }
  return matchers;
}

} // namespace

Result<InitRule> InitRule::parse(const std::string &text) {
  size_t colon = text.rfind(':');
  InitRule rule;
  if (colon != std::string::npos)
    rule.pattern = text.substr(0, colon);
  DLC_ASSIGN(rule.kind, parseInitKind(text.substr(colon + 1)));
  DLC_TRY(Pattern::parse(rule.pattern).status());
  return rule;
}

Result<int> initializeWeights(OnnxFile &file,
                              const std::map<std::string, Role> &roles,
                              const std::vector<std::string> &head,
                              const InitOptions &options) {
  DLC_ASSIGN(std::vector<Matcher> rules, compile(options.rules));
  Usages usages(file);
  std::map<std::string, int> counts;
  std::vector<std::string> trained;
  for (const auto &[name, role] : roles) {
    if (role == Role::Constant)
      continue;
    trained.push_back(name);
    auto rule = std::ranges::find_if(
        rules, [&](Matcher &m) { return m.pattern.search(name); });
    const bool fresh = std::ranges::count(head, name) > 0;
    if (rule == rules.end() && !fresh)
      continue;
    InitKind kind{"kaiming_uniform", std::sqrt(5)};
    if (rule != rules.end()) {
      rule->used = true;
      kind = rule->kind;
    }
    const Weight weight = *file.weights.find(name);
    Usage usage = usages.find(name);
    bool matrix = weight.shape.size() > 1;
    if (kind.isRandom() && !matrix)
      kind = {untrained(name, usage), 0};
    ++counts[kind.name];
    if (kind.name == "keep")
      continue;
    InitTensor tensor{name, weight.dtype, weight.shape, {}};
    if (matrix)
      tensor.fans = weightFans(weight, usage);
    file.weights.own(name, weight.dtype, weight.shape,
                     initialize(kind, tensor, uint64_t(options.seed)));
  }
  for (const Matcher &rule : rules)
    if (!rule.used)
      return usageError("--init={} matches no trained weight of the model{}",
                        rule.text, nearbyNames(rule.pattern.text(), trained));
  std::vector<std::string> kinds;
  int all = 0;
  for (const auto &[kind, count] : counts) {
    all += count;
    kinds.push_back(fmt::format("{} {}", kind, count));
  }
  if (all)
    file.remarks.push_back(
        {fmt::format("initial weights: {}", fmt::join(kinds, ", "))});
  return all;
}

} // namespace dlc::import
