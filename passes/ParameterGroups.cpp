#include "passes/ParameterGroups.h"
#include <cmath>
#include <regex>

using namespace mlir;

namespace dlc {
namespace {

/// REGEX:FACTOR, several times; the first that matches a name counts.
class Factors {
public:
  Factors(const char *flag, Operation *where) : flag(flag), where(where) {}

  LogicalResult parse(const std::vector<std::string> &texts) {
    for (const std::string &text : texts) {
      size_t split = text.rfind(':');
      double factor;
      if (split == std::string::npos || split == 0 ||
          StringRef(text).substr(split + 1).getAsDouble(factor) ||
          !(factor >= 0 && std::isfinite(factor)))
        return where->emitError()
               << flag << ": expected REGEX:FACTOR with a factor of at least "
               << "0, found '" << text << "'";
      try {
        rows.push_back({text, std::regex(text.substr(0, split)), factor});
      } catch (const std::regex_error &) {
        return where->emitError() << flag << ": '" << text.substr(0, split)
                                  << "' is not a regular expression";
      }
    }
    return success();
  }
  double of(const std::string &name) {
    const Row *first = nullptr;
    for (Row &row : rows)
      if (std::regex_search(name, row.pattern)) {
        row.matched = true;
        first = first ? first : &row;
      }
    return first ? first->factor : 1;
  }
  LogicalResult expectMatches() {
    for (const Row &row : rows)
      if (!row.matched)
        return where->emitError()
               << flag << "=" << row.text << " matches no trained parameter";
    return success();
  }

private:
  struct Row {
    std::string text;
    std::regex pattern;
    double factor;
    bool matched = false;
  };
  const char *flag;
  Operation *where;
  std::vector<Row> rows;
};

bool isNormOrBias(ir::StateOp parameter) {
  return parameter.getTensorType().getRank() <= 1 ||
         parameter.getSymName().ends_with(".bias");
}

/// What moves the parameters that `rule` does not take.
OptimizerOptions fallbackOptions(const OptimizerOptions &of) {
  OptimizerOptions o;
  o.name = "adamw";
  o.lr = of.lr;
  o.weightDecay = of.weightDecay;
  o.resolve();
  return o;
}

} // namespace

FailureOr<std::vector<ParameterGroup>>
groupParameters(Step &step, const Rule &rule, const OptimizerOptions &options) {
  if (options.noDecay != "none" && options.noDecay != "norm_bias")
    return step.f.emitError() << "expected no-decay of none or norm_bias, "
                              << "found '" << options.noDecay << "'";
  Factors rates("--lr-scale", step.f), decays("--weight-decay-scale", step.f);
  if (failed(rates.parse(options.lrScale)) ||
      failed(decays.parse(options.weightDecayScale)))
    return failure();
  std::vector<ParameterGroup> groups;
  for (ir::GradientOp g : step.gradients()) {
    ir::StateOp parameter = step.findState(g.getState());
    std::string name = parameter.getSymName().str();
    bool mine = !rule.rank || parameter.getTensorType().getRank() == rule.rank;
    OptimizerOptions own = mine ? options : fallbackOptions(options);
    double lrScale = rates.of(name);
    *own.weightDecay *= decays.of(name);
    if (options.noDecay == "norm_bias" && isNormOrBias(parameter))
      own.weightDecay = 0;
    auto group = llvm::find_if(groups, [&](const ParameterGroup &p) {
      return p.rule->name == own.name && p.lrScale == lrScale &&
             p.options.weightDecay == own.weightDecay;
    });
    if (group == groups.end())
      group = groups.insert(group, {findRule(own.name), lrScale, own, {}});
    group->gradients.push_back(g);
  }
  if (failed(rates.expectMatches()) || failed(decays.expectMatches()))
    return failure();
  return groups;
}

LogicalResult checkPatterns(ModuleOp module, const OptimizerOptions &o) {
  Factors rates("--lr-scale", module), decays("--weight-decay-scale", module);
  if (failed(rates.parse(o.lrScale)) ||
      failed(decays.parse(o.weightDecayScale)))
    return failure();
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getTrainable()) {
      rates.of(state.getSymName().str());
      decays.of(state.getSymName().str());
    }
  return success(succeeded(rates.expectMatches()) &&
                 succeeded(decays.expectMatches()));
}

} // namespace dlc
