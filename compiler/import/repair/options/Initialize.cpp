// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/options/Initialize.h"
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include "runtime/base/numbers/FloatCast.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/base/numbers/Philox.h"
#include "runtime/base/options/Nearest.h"
#include "runtime/base/options/Pattern.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <fmt/ranges.h>
#include <map>
#include <numbers>

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

const std::map<std::string, double> kDefaults = {
    {"xavier_uniform", 1}, {"xavier_normal", 1}, {"kaiming_uniform", 0},
    {"kaiming_normal", 0}, {"trunc_normal", 1},  {"orthogonal", 1},
    {"zeros", 0},          {"ones", 0},          {"keep", 0}};

/// Random numbers of one tensor by element index.
class Stream {
public:
  Stream(uint64_t seed, const std::string &name)
      : seed(seed), tensor(llvm::xxh3_64bits(name)) {}

  /// In [0, 1), a multiple of 2^-32.
  double uniform(uint64_t i) const {
    return philox(seed, i, tensor)[0] * 0x1p-32;
  }
  /// Box-Muller transform of two words; `attempt` selects different ones.
  double normal(uint64_t i, uint64_t attempt = 0) const {
    PhiloxBlock words = philox(seed, i | attempt << 48, tensor);
    double radius = std::sqrt(-2 * std::log((words[0] + 0.5) * 0x1p-32));
    return radius * std::cos(2 * std::numbers::pi * words[1] * 0x1p-32);
  }

private:
  uint64_t seed, tensor;
};

using Numbers = std::vector<double>;

template <class F> Numbers numbers(int64_t count, F f) {
  Numbers result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = f(i);
  return result;
}

double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Makes the rows orthonormal by QR with positive diagonal of R. Done twice,
/// since one pass loses orthogonality.
void orthonormalize(Numbers &rows, int64_t count, int64_t length) {
  for (int64_t i = 0; i < count; ++i) {
    double *row = &rows[static_cast<size_t>(i * length)];
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < i; ++j) {
        const double *other = &rows[static_cast<size_t>(j * length)];
        double along = dot(row, other, length);
        for (int64_t k = 0; k < length; ++k)
          row[k] -= along * other[k];
      }
    double norm = std::sqrt(dot(row, row, length));
    for (int64_t k = 0; k < length; ++k)
      row[k] /= norm;
  }
}

Numbers transpose(const Numbers &from, int64_t rows, int64_t columns) {
  Numbers to(from.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      to[static_cast<size_t>(c * rows + r)] =
          from[static_cast<size_t>(r * columns + c)];
  return to;
}

/// A [rows, columns] matrix with orthonormal rows, or columns if these are
/// fewer.
Numbers orthogonal(int64_t rows, int64_t columns, double gain,
                   const Stream &stream) {
  int64_t few = std::min(rows, columns), many = std::max(rows, columns);
  Numbers q = numbers(few * many, [&](size_t i) { return stream.normal(i); });
  orthonormalize(q, few, many);
  for (double &x : q)
    x *= gain;
  return few == rows ? q : transpose(q, few, many);
}

Numbers generate(const InitKind &kind, const InitTensor &t, uint64_t seed) {
  const int64_t count = Weight{t.dtype, t.shape}.elements();
  Stream stream(seed, t.name);
  auto uniform = [&](double bound) {
    return numbers(
        count, [&](size_t i) { return bound * (2 * stream.uniform(i) - 1); });
  };
  auto normal = [&](double std) {
    return numbers(count, [&](size_t i) { return std * stream.normal(i); });
  };
  double x = kind.argument, in = t.fans.in, both = t.fans.in + t.fans.out;
  if (kind.name == "xavier_uniform")
    return uniform(x * std::sqrt(6 / both));
  if (kind.name == "xavier_normal")
    return normal(x * std::sqrt(2 / both));
  if (kind.name == "kaiming_uniform")
    return uniform(std::sqrt(6 / ((1 + x * x) * in)));
  if (kind.name == "kaiming_normal")
    return normal(std::sqrt(2 / ((1 + x * x) * in)));
  if (kind.name == "trunc_normal")
    return numbers(count, [&](size_t i) {
      for (uint64_t attempt = 0;; ++attempt)
        if (double y = x * stream.normal(i, attempt); std::abs(y) <= 2)
          return y;
    });
  if (const int64_t rows = t.shape.empty() ? 0 : t.shape[0];
      kind.name == "orthogonal")
    return orthogonal(rows, rows ? count / rows : 0, x, stream);
  return Numbers(static_cast<size_t>(count), kind.name == "ones" ? 1 : 0);
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
  const auto names = namesOfWeights(file);
  for (const auto &[name, role] : roles) {
    if (role == Role::Constant)
      continue;
    const std::vector<std::string> &known = names.at(name);
    trained.insert(trained.end(), known.begin(), known.end());
    auto rule = std::ranges::find_if(rules, [&](Matcher &m) {
      return std::ranges::any_of(
          known, [&](auto &name) { return m.pattern.search(name); });
    });
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

Result<InitKind> parseInitKind(const std::string &text) {
  size_t open = text.find('(');
  InitKind kind{text.substr(0, open), 0};
  auto found = kDefaults.find(kind.name);
  if (found == kDefaults.end()) {
    std::vector<std::string> names;
    for (const auto &[name, argument] : kDefaults)
      names.push_back(name);
    return usageError("'{}' is not one of {}{}", kind.name,
                      fmt::join(names, ", "), suggestion(kind.name, names));
  }
  kind.argument = found->second;
  if (open == std::string::npos)
    return kind;
  const auto argument = asNumber<double>(
      std::string_view(text).substr(open + 1, text.size() - open - 2));
  kind.argument = argument.value_or(kind.argument);
  // Rejection sampling is slow for small acceptance rates.
  double high = kind.name == "trunc_normal" ? 100 : 1e6;
  bool fits = kind.argument > 0 || kind.name.starts_with("kaiming");
  if (!kind.isRandom() || text.back() != ')' || !argument || !fits ||
      !(std::abs(kind.argument) <= high))
    return usageError("expected {}{}, found '{}'", kind.name,
                      kind.isRandom() ? "(NUMBER)" : "", text);
  return kind;
}

Fans fansOf(const std::vector<int64_t> &shape) {
  int64_t field = 1;
  for (size_t i = 2; i < shape.size(); ++i)
    field *= shape[i];
  return {shape[1] * field, shape[0] * field};
}

std::string initialize(const InitKind &kind, const InitTensor &tensor,
                       uint64_t seed) {
  const Numbers values = generate(kind, tensor, seed);
  const auto bytes =
      castFloats(values.data(), values.size(), DType::F64, tensor.dtype);
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace dlc::import
