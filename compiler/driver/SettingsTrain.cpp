#include "compiler/driver/Settings.h"
#include "passes/LossTerms.h"
#include "runtime/base/Nearest.h"
#include <fmt/ranges.h>

namespace dlc {

static Status setLoss(LossOptions &o, const std::vector<std::string> &words) {
  const std::vector<std::string> names = {"auto", "cross_entropy", "mse",
                                          "bce"};
  const std::vector<std::string> kinds(names.begin() + 1, names.end());
  auto isIn = [](const std::vector<std::string> &known,
                 const std::string &word) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  std::string text = fmt::format("{}", fmt::join(words, ",")), wrong;
  if (!isLossList(text)) {
    if (!isIn(names, text))
      return usageError("'{}' is not one of {} or OUTPUT:KIND[:WEIGHT],...{}",
                        text, fmt::join(names, ", "), suggestion(text, names));
  } else {
    auto terms = parseLossTerms(text, wrong);
    if (!terms)
      return usageError("{}", wrong);
    for (const LossTerm &term : *terms)
      if (!isIn(kinds, term.kind))
        return usageError("'{}' for output '{}' is not one of {}{}", term.kind,
                          term.output, fmt::join(kinds, ", "),
                          suggestion(term.kind, kinds));
  }
  o.kind = text;
  return {};
}

void Settings::addLoss() {
  LossOptions &o = options.train.loss;
  Setting &loss = add("train.loss",
                      "auto takes the graph's own, else cross_entropy; a list: "
                      "the weighted sum for several outputs",
                      "{auto,cross_entropy,mse,bce}|OUTPUT:KIND[:WEIGHT],...");
  loss.set = [&o](auto &words) { return setLoss(o, words); };
  loss.get = [&o] { return yamlText(o.kind); };
  either("train.bn-variance", o.bnVariancePopulation, "unbiased", "population",
         "running variance as frameworks or as the ONNX text keeps it");
}

void Settings::addOptimizer() {
  OptimizerOptions &o = options.train.optimizer;
  auto only = [](Setting &setting, std::vector<std::string> names) {
    setting.only("train.optimizer", std::move(names));
  };
  choice("train.optimizer", o.name,
         {"sgd", "adam", "adamw", "rmsprop", "rmsprop_tf", "adagrad", "lamb",
          "lion", "muon"},
         "the update rule; null below is its own default");
  number("train.lr", o.lr, 0, kNoLimit, "learning rate");
  number("train.weight-decay", o.weightDecay, 0, kNoLimit,
         "pulls parameters to 0");
  only(number("train.momentum", o.momentum, 0, 1, "of the update"),
       {"sgd", "rmsprop", "rmsprop_tf", "muon"});
  only(toggle("train.nesterov", o.nesterov, "Nesterov's momentum"),
       {"sgd", "muon"});
  only(number("train.dampening", o.dampening, 0, 1, "of the momentum"),
       {"sgd"});
  Setting &betas = add("train.betas", "decay rates of both moments", "A,B");
  only(betas, {"adam", "adamw", "lamb", "lion"});
  betas.commas = true;
  betas.set = [&o](auto &words) -> Status {
    if (words.empty()) {
      o.beta1 = o.beta2 = std::nullopt;
      return {};
    }
    if (words.size() != 2)
      return usageError("expected two numbers A,B, found '{}'",
                        fmt::join(words, ","));
    DLC_ASSIGN(o.beta1, parseNumber(words[0], 0, 1));
    DLC_ASSIGN(o.beta2, parseNumber(words[1], 0, 1));
    return {};
  };
  betas.get = [&o] {
    return o.beta1 && o.beta2 ? fmt::format("[{}, {}]", numberText(*o.beta1),
                                            numberText(*o.beta2))
                              : "null";
  };
  only(number("train.eps", o.epsilon, kAboveZero, kNoLimit,
              "keeps the denominator from 0"),
       {"adam", "adamw", "rmsprop", "rmsprop_tf", "adagrad", "lamb", "muon"});
  only(number("train.alpha", o.alpha, 0, 1, "decay rate of the mean square"),
       {"rmsprop", "rmsprop_tf"});
  only(toggle("train.amsgrad", o.amsgrad,
              "divides by the largest second moment so far"),
       {"adam", "adamw"});
  choice("train.moments", o.moments, {"f32", "bf16"},
         "what moments are kept in; the arithmetic is f32");
  list("train.lr-scale", o.lrScale, "REGEX:FACTOR",
       "factor of lr for parameters that match; the first counts");
  list("train.weight-decay-scale", o.weightDecayScale, "REGEX:FACTOR",
       "factor of weight-decay for those that match");
  list(
      "train.optimizer-group", o.groups, "REGEX:NAME[,KEY=VALUE...]",
      "another optimizer for those that match, with its own lr, momentum, ...");
  choice("train.no-decay", o.noDecay, {"none", "norm_bias"},
         "norm_bias: vectors and biases do not decay");
  count("train.accumulate", options.train.accumulate.count, 1,
        "micro-batches of --batch rows in an update, which takes their mean",
        1 << 20);
  ClipOptions &clip = options.train.clip;
  number("train.clip-value", clip.maxValue, 0, kNoLimit,
         "largest element of a gradient; 0: no clamping");
  number("train.clip-grad", clip.maxNorm, 0, kNoLimit,
         "largest norm of all gradients together; 0: no clipping");
  toggle("train.grad-norm", clip.reportNorm,
         "reports that norm without clipping by it");
  toggle(
      "train.debug-overflow", options.train.debugOverflow,
      "a kernel for each op, slow: dlc train --debug-overflow names one node");
  OutlierOptions &outlier = options.train.outlier;
  number(
      "train.skip-loss-zscore", outlier.lossZ, 0, kNoLimit,
      "skips a step whose loss is as many standard deviations above the mean "
      "of the last 128; 0: off");
  number("train.skip-grad-zscore", outlier.gradientZ, 0, kNoLimit,
         "the same of the gradients' norm");
}

void Settings::addSchedule() {
  ScheduleOptions &o = options.train.schedule;
  auto only = [](Setting &setting, std::vector<std::string> names) {
    setting.only("train.schedule", std::move(names));
  };
  choice("train.schedule", o.name,
         {"constant", "step", "multistep", "linear", "cosine", "polynomial",
          "onecycle"},
         "of the learning rate");
  either("train.schedule-per", o.perEpoch, "update", "epoch",
         "unit of the lengths below");
  count("train.warmup", o.warmup, 0, "length of the linear warm-up");
  count("train.steps", o.totalSteps, 0,
        "updates of the whole training; 0: set by dlc train");
  only(count("train.decay-steps", o.decaySteps, 1, "length between decays"),
       {"step"});
  only(
      number("train.decay-rate", o.decayRate, 0, kNoLimit, "factor of a decay"),
      {"step", "multistep"});
  Setting &milestones = add("train.milestones", "where it decays", "A,B,...");
  only(milestones, {"multistep"});
  milestones.commas = true;
  milestones.set = [&o](auto &words) -> Status {
    o.milestones.clear();
    for (const std::string &word : words) {
      DLC_ASSIGN(int64_t at, parseCount(word, 1));
      if (!o.milestones.empty() && at < o.milestones.back())
        return usageError("expected rising numbers, found {}",
                          fmt::join(words, ","));
      o.milestones.push_back(at);
    }
    return {};
  };
  milestones.get = [&o] {
    return fmt::format("[{}]", fmt::join(o.milestones, ", "));
  };
  only(number("train.start-factor", o.startFactor, 0, kNoLimit,
              "factor of lr at the start"),
       {"linear"});
  only(number("train.end-factor", o.endFactor, 0, kNoLimit,
              "factor of lr at the end"),
       {"linear"});
  only(number("train.min-lr", o.minLr, 0, kNoLimit, "where it ends"),
       {"cosine", "polynomial"});
  only(count("train.cycle-steps", o.cycleSteps, 0,
             "length of the first cycle; 0: no restarts"),
       {"cosine"});
  only(count("train.cycle-mult", o.cycleMult, 1,
             "each cycle's length by the one before"),
       {"cosine"});
  only(number("train.cycle-decay", o.cycleDecay, 0, kNoLimit,
              "each cycle's rate by the one before"),
       {"cosine"});
  only(number("train.power", o.power, 0, kNoLimit, "of the polynomial"),
       {"polynomial"});
  only(number("train.pct-start", o.pctStart, kAboveZero, 0.999,
              "share of the rise"),
       {"onecycle"});
  only(number("train.div-factor", o.divFactor, kAboveZero, kNoLimit,
              "peak rate by the first"),
       {"onecycle"});
  only(number("train.final-div-factor", o.finalDivFactor, kAboveZero, kNoLimit,
              "first rate by the last"),
       {"onecycle"});
  Setting &cycled = toggle("train.cycle-momentum", o.cycleMomentum,
                           "momentum, or beta1, moves against the rate");
  cycled.type = "{true,false}";
  only(cycled, {"onecycle"});
  number("train.base-momentum", o.baseMomentum, 0, 0.999999,
         "at the highest rate")
      .only("train.cycle-momentum", {"true"});
  number("train.max-momentum", o.maxMomentum, 0, 0.999999, "at both ends")
      .only("train.cycle-momentum", {"true"});
}

} // namespace dlc
