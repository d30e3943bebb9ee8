// SPDX-License-Identifier: Apache-2.0
#include "passes/optimizer/ParameterGroups.h"
#include "runtime/base/options/Arguments.h"
#include "runtime/base/options/Pattern.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;

namespace dlc {
namespace {

/// Rules REGEX:VALUE; the first that matches a name applies.
template <class T> class Patterns {
public:
  Patterns(const char *flag, Operation *where) : flag(flag), where(where) {}

  /// `read` parses the text after the last colon, or returns an error message.
  template <class Read>
  LogicalResult parse(const std::vector<std::string> &texts, Read read) {
    for (const std::string &text : texts) {
      size_t split = text.rfind(':');
      bool whole = split != std::string::npos && split != 0;
      std::string wrong;
      std::optional<T> value = read(whole ? text.substr(split + 1) : "", wrong);
      if (!value)
        return where->emitError()
               << flag << ": " << wrong << ", found '" << text << "'";
      auto pattern = Pattern::parse(text.substr(0, split));
      if (!pattern)
        return where->emitError() << flag << ": " << pattern.status().message();
      rows.push_back({text, *pattern, *value});
    }
    return success();
  }
  /// Index of the rule for the parameter with these names; nullopt if none
  /// matches.
  std::optional<size_t> find(const std::vector<std::string> &known) {
    std::optional<size_t> first;
    llvm::append_range(names, known);
    for (auto [i, row] : llvm::enumerate(rows))
      if (llvm::any_of(known,
                       [&](auto &name) { return row.pattern.search(name); })) {
        row.matched = true;
        first = first.value_or(i);
      }
    return first;
  }
  const T &value(size_t row) const { return rows[row].value; }
  LogicalResult expectMatches() {
    for (const Row &row : rows)
      if (!row.matched)
        return where->emitError()
               << flag << "=" << row.text << " matches no trained parameter"
               << nearbyNames(row.pattern.text(), names);
    return success();
  }

private:
  struct Row {
    std::string text;
    Pattern pattern;
    T value;
    bool matched = false;
  };
  const char *flag;
  Operation *where;
  std::vector<Row> rows;
  std::vector<std::string> names; // asked for
};

std::optional<double> readFactor(StringRef text, std::string &wrong) {
  double factor;
  if (!text.getAsDouble(factor) && factor >= 0 && std::isfinite(factor))
    return factor;
  wrong = "expected REGEX:FACTOR with a factor of at least 0";
  return std::nullopt;
}

/// Sets the option of that flag; false if there is none, or the value is
/// invalid. Both betas have their own flags here.
bool setOption(OptimizerOptions &o, const std::string &flag,
               const Words &words) {
  if (flag == "beta1" || flag == "beta2") {
    auto rate = parseNumber(words.front(), 0, 1);
    if (rate)
      (flag == "beta1" ? o.beta1 : o.beta2) = *rate;
    return rate.ok();
  }
  OptionTable table;
  o.addTo(table);
  const Option *option = table.find("train." + flag);
  return option && flag != "optimizer" && option->set(words).ok();
}

/// Parses NAME, NAME(KEY=VALUE,...), or the older form NAME,KEY=VALUE,...
std::optional<OptimizerOptions> readOptimizer(const std::string &text,
                                              const OptimizerOptions &main,
                                              std::string &wrong) {
  std::string plain = text;
  auto arguments = takeArguments(plain, optimizerNames());
  if (!arguments) {
    wrong = arguments.status().message();
    return std::nullopt;
  }
  SmallVector<StringRef> words;
  StringRef(plain).split(words, ',');
  OptimizerOptions o;
  o.cycledMomentum = main.cycledMomentum;
  o.sparse = main.sparse;
  o.moments = main.moments;
  if (words[0] == main.name)
    o = main;
  o.name = words[0].str();
  if (!llvm::is_contained(optimizerNames(), o.name)) {
    wrong =
        "expected REGEX:NAME with one of " + llvm::join(optimizerNames(), ", ");
    return std::nullopt;
  }
  for (StringRef word : ArrayRef(words).drop_front()) {
    auto [key, value] = word.split('=');
    arguments->push_back({o.name, key.str(), {value.str()}});
  }
  for (Argument &argument : *arguments) {
    std::replace(argument.key.begin(), argument.key.end(), '_', '-');
    if (!optimizerReads(o.name, argument.key) ||
        !setOption(o, argument.key, argument.words)) {
      wrong = "expected arguments of " + o.name + " as KEY=VALUE, not '" +
              argument.key + "=" + llvm::join(argument.words, ",") + "'";
      return std::nullopt;
    }
  }
  o.resolve();
  return o;
}

/// The rules of all options.
struct Rows {
  explicit Rows(Operation *where)
      : where(where), rates("--lr-scale", where),
        decays("--weight-decay-scale", where),
        optimizers("--optimizer-group", where) {}

  LogicalResult parse(const OptimizerOptions &o) {
    return success(
        succeeded(rates.parse(o.lrScale, readFactor)) &&
        succeeded(decays.parse(o.weightDecayScale, readFactor)) &&
        succeeded(optimizers.parse(
            o.groups, [&](const std::string &text, std::string &wrong) {
              return readOptimizer(text, o, wrong);
            })));
  }
  LogicalResult expectMatches() {
    return success(succeeded(rates.expectMatches()) &&
                   succeeded(decays.expectMatches()) &&
                   succeeded(optimizers.expectMatches()));
  }
  static double factor(Patterns<double> &of,
                       const std::vector<std::string> &known) {
    auto row = of.find(known);
    return row ? of.value(*row) : 1;
  }

  Operation *where;
  Patterns<double> rates, decays;
  Patterns<OptimizerOptions> optimizers;
};

bool isNormOrBias(ir::StateOp parameter) {
  return parameter.getTensorType().getRank() <= 1 ||
         parameter.getSymName().ends_with(".bias");
}

/// The optimizer of parameters that `rule` does not support.
OptimizerOptions fallbackOptions(const OptimizerOptions &of) {
  OptimizerOptions o;
  o.name = "adamw";
  o.lr = of.lr;
  o.weightDecay = of.weightDecay;
  o.sparse = of.sparse;
  o.moments = of.moments;
  o.resolve();
  return o;
}

} // namespace

LogicalResult checkOptimizer(Operation *where, const OptimizerOptions &o) {
  if (*o.nesterov && (o.momentum.value_or(0) == 0 || o.dampening != 0))
    return where->emitError(
        "nesterov needs a momentum above 0 and no dampening");
  if (o.moments == "8bit" && findRule(o.name)->isOfWholeTensors)
    return where->emitError()
           << "moments in 8 bits are for optimizers that update each element "
              "by itself, but "
           << o.name << " computes with whole tensors: use --moments=bf16";
  return success();
}

FailureOr<std::vector<ParameterGroup>>
groupParameters(Step &step, const OptimizerOptions &options) {
  Rows rows(step.f);
  if (failed(rows.parse(options)))
    return failure();
  std::vector<ParameterGroup> groups;
  for (ir::GradientOp g : step.gradients()) {
    ir::StateOp parameter = step.findState(g.getState());
    const auto known = namesOf(parameter);
    auto row = rows.optimizers.find(known);
    const OptimizerOptions &chosen =
        row ? rows.optimizers.value(*row) : options;
    if (failed(checkOptimizer(step.f, chosen)))
      return failure();
    const Rule *rule = findRule(chosen.name);
    bool mine =
        !rule->rank || parameter.getTensorType().getRank() == rule->rank;
    OptimizerOptions own = mine ? chosen : fallbackOptions(chosen);
    double lrScale = Rows::factor(rows.rates, known);
    if (*own.lr != *options.lr) {
      if (*options.lr == 0)
        return step.f.emitError()
               << "--optimizer-group: a group has a learning "
                  "rate, so --lr must be above 0, too";
      lrScale *= *own.lr / *options.lr;
    }
    *own.weightDecay *= Rows::factor(rows.decays, known);
    if (options.noDecay == "norm_bias" && isNormOrBias(parameter))
      own.weightDecay = 0;
    int64_t optimizer = row ? int64_t(*row) : -1;
    auto group = llvm::find_if(groups, [&](const ParameterGroup &p) {
      return p.optimizer == optimizer && p.rule->name == own.name &&
             p.lrScale == lrScale && p.options.weightDecay == own.weightDecay;
    });
    if (group == groups.end())
      group = groups.insert(group,
                            {optimizer, findRule(own.name), lrScale, own, {}});
    group->gradients.push_back(g);
  }
  if (failed(rows.expectMatches()))
    return failure();
  return groups;
}

LogicalResult checkPatterns(ModuleOp module, const OptimizerOptions &given) {
  OptimizerOptions o = given;
  o.resolve();
  Rows rows(module);
  if (failed(checkOptimizer(module, o)) || failed(rows.parse(o)))
    return failure();
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getTrainable()) {
      const auto known = namesOf(state);
      rows.rates.find(known);
      rows.decays.find(known);
      rows.optimizers.find(known);
    }
  return rows.expectMatches();
}

Result<OptimizerOptions> readOuterOptimizer(const std::string &text) {
  std::string wrong;
  const auto o = readOptimizer(text, {}, wrong);
  if (!o || o->name != "sgd" || o->dampening != 0)
    return usageError("--outer-optimizer: {}, found '{}'",
                      !o && text.starts_with("sgd")
                          ? wrong
                          : "expected sgd(lr=NUMBER,momentum=NUMBER,"
                            "nesterov=true|false)",
                      text);
  if (*o->nesterov && *o->momentum == 0)
    return usageError("--outer-optimizer: nesterov needs a momentum above 0");
  return *o;
}

} // namespace dlc
