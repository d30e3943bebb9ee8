// SPDX-License-Identifier: Apache-2.0
// Optimizer, what happens to gradients, ranks.
#include "passes/loss/LossTerms.h"
#include "passes/optimizer/OptimizerRules.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {

static void addBetas(OptionTable &table, OptimizerOptions &o) {
  Option &betas =
      table
          .add("train.betas",
               "decay rates of both moments; default " + defaultsText("betas"),
               "A,B")
          .only("train.optimizer", readersOf("betas"));
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
    return o.beta1 && o.beta2 ? std::optional(Words{numberText(*o.beta1),
                                                    numberText(*o.beta2)})
                              : std::nullopt;
  };
}

void OptimizerOptions::addTo(OptionTable &table) {
  auto own = [](Option &row) {
    row.only("train.optimizer", readersOf(row.name()));
  };
  table.choice("train.optimizer", name, optimizerNames(),
               "the update rule; null below is its own default");
  table.number("train.lr", lr, 0, kNoLimit,
               "learning rate (default " + defaultsText("lr") + ")");
  table.number("train.weight-decay", weightDecay, 0, kNoLimit,
               "pulls parameters to 0 (default " +
                   defaultsText("weight-decay") + ")");
  own(table.number("train.momentum", momentum, 0, 1,
                   "of the update; default " + defaultsText("momentum")));
  own(table.toggle("train.nesterov", nesterov, "Nesterov's momentum"));
  own(table.number("train.dampening", dampening, 0, 1, "of the momentum"));
  addBetas(table, *this);
  own(table.number("train.eps", epsilon, kAboveZero, kNoLimit,
                   "keeps the denominator from 0; default " +
                       defaultsText("eps")));
  own(table.number("train.alpha", alpha, 0, 1,
                   "decay rate of the mean square; default " +
                       defaultsText("alpha")));
  own(table.toggle("train.amsgrad", amsgrad,
                   "divides by the largest second moment so far"));
  table.choice("train.moments", moments, {"f32", "bf16"},
               "what moments are kept in; the arithmetic is f32");
  table.list("train.lr-scale", lrScale, "REGEX:FACTOR",
             "factor of lr for parameters that match; the first counts");
  table.list("train.weight-decay-scale", weightDecayScale, "REGEX:FACTOR",
             "factor of weight-decay for those that match");
  table.list("train.optimizer-group", groups, "REGEX:NAME[,KEY=VALUE...]",
             "another optimizer for those that match, with its own lr, "
             "momentum, ...");
  table.choice("train.no-decay", noDecay, {"none", "norm_bias"},
               "norm_bias: vectors and biases do not decay");
}

void AccumulateOptions::addTo(OptionTable &table) {
  table.count("train.accumulate", count, 1,
              "micro-batches of --batch rows in an update, which takes their "
              "mean",
              1 << 20);
}

void ClipOptions::addTo(OptionTable &table) {
  table.number("train.clip-value", maxValue, 0, kNoLimit,
               "largest element of a gradient; 0: no clamping");
  table.number("train.clip-grad", maxNorm, 0, kNoLimit,
               "largest norm of all gradients together; 0: no clipping");
  table.number("train.clip-param-grad", maxParameterNorm, 0, kNoLimit,
               "largest norm of each parameter's gradient, taken before the "
               "others; 0: no clipping");
  table.toggle("train.grad-norm", reportNorm,
               "reports that norm without clipping by it");
}

void StatisticsOptions::addTo(OptionTable &table) {
  table.toggle("train.stats", enabled,
               "steps report norm, mean, deviation and largest value of each "
               "parameter and its gradient: dlc train --stats-every");
}

void OutlierOptions::addTo(OptionTable &table) {
  table.number("train.skip-loss-zscore", lossZ, 0, kNoLimit,
               "skips a step whose loss is as many standard deviations above "
               "the mean of the last 128; 0: off");
  table.number("train.skip-grad-zscore", gradientZ, 0, kNoLimit,
               "the same of the gradients' norm");
}

Status AllReduceOptions::setCompress(const std::string &word) {
  std::vector<std::string> parts;
  for (llvm::StringRef part : llvm::split(word, ':'))
    parts.push_back(part.str());
  if (parts.size() == 1 &&
      (word == "none" || word == "bf16" || word == "fp16")) {
    compress = word;
    return {};
  }
  if (parts[0] != "powersgd" || parts.size() < 2 || parts.size() > 3)
    return usageError("expected none, bf16, fp16 or powersgd:RANK, found '{}'",
                      word);
  DLC_ASSIGN(powerRank, parseCount(parts[1], 1, 1024));
  if (parts.size() == 3) {
    DLC_ASSIGN(powerRate, parseNumber(parts[2], kAboveZero, 1e6));
  }
  compress = "powersgd";
  return {};
}

void AllReduceOptions::addTo(OptionTable &table) {
  table.count("ddp.ranks", world, 1, "ranks that train together", 65536)
      .named("--ddp");
  auto megabytes = [&](const char *key, int64_t &field,
                       const char *help) -> Option & {
    Option &row = table.add(key, help, "NUMBER");
    row.set = [&field](auto &words) -> Status {
      DLC_ASSIGN(std::string word, oneWord(words));
      DLC_ASSIGN(double mb, parseNumber(word, kAboveZero, 1 << 20));
      field = int64_t(mb * (1 << 20));
      return {};
    };
    row.get = [&field] { return Words{numberText(double(field) / (1 << 20))}; };
    return row;
  };
  megabytes("ddp.bucket-mb", bucketBytes, "size of an all-reduce bucket");
  megabytes("ddp.first-bucket-mb", firstBucketBytes,
            "the same of the first one, which starts early, if that is less");
  table
      .toggle("ddp.sync-bn", syncBatchNorm,
              "batch norm by the statistics of all ranks' batches")
      .named("--sync-bn");
  Option &compressed =
      table
          .add("ddp.compress",
               "none, bf16, fp16: what gradients are rounded to on their way "
               "between ranks; powersgd:RANK[:RATE]: matrices travel as "
               "factors of that rank, if that makes them RATE (2) times "
               "smaller",
               "WORD")
          .named("--compress");
  compressed.set = [this](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    return setCompress(word);
  };
  compressed.get = [this] {
    return Words{compress == "powersgd"
                     ? "powersgd:" + std::to_string(powerRank) + ":" +
                           numberText(powerRate)
                     : compress};
  };
  table
      .count("ddp.zero", zero, 0,
             "1: each rank keeps and computes its part of moments and "
             "averages; 2: of gradients, too; 3: of parameters, too; 0: all "
             "of them",
             3)
      .named("--zero");
  table
      .count("ddp.zero-prefetch", zeroPrefetch, 0,
             "buckets of parameters that --zero=3 gathers ahead of their use",
             1024)
      .only("ddp.zero", {"3"});
  megabytes("ddp.zero-whole-mb", zeroWholeBytes,
            "parameters of a bucket that take less stay whole with --zero=3")
      .only("ddp.zero", {"3"});
}

void RandomOptions::addTo(OptionTable &table) {
  table.count("model.seed", seed, 0, "of initial values and dropout");
}

void LoraOptions::addTo(OptionTable &table) {
  table
      .count("lora.rank", rank, 0,
             "freezes the weights and trains low-rank adapters; 0: none",
             1 << 16)
      .named("--lora");
  table
      .number("lora.alpha", alpha, kAboveZero, kNoLimit,
              "adapters count alpha / rank")
      .named("--lora-alpha")
      .only("lora.rank", {});
  table
      .patterns("lora.targets", targets,
                "weights that get adapters; none: those of all matrix products")
      .named("--lora-targets")
      .only("lora.rank", {});
  table
      .patterns("lora.trained", trained,
                "weights that stay trained, with those of --train and a new "
                "head")
      .named("--lora-trained")
      .only("lora.rank", {});
}

/// What a scaler for each loss needs.
static Status checkScaler(StepOptions step) {
  step.resolve();
  if (!step.scaler.perLoss)
    return {};
  if (!isLossList(step.loss.kind))
    return usageError("--loss-scale-per-loss needs several losses: "
                      "--loss=OUTPUT:KIND[:WEIGHT],...");
  if (step.scaler.scale == "none")
    return usageError("--loss-scale-per-loss needs --loss-scale=dynamic");
  return {};
}

static Status checkNesterov(StepOptions step) {
  step.resolve();
  return step.optimizer.nesterov.value_or(false) &&
                 step.optimizer.momentum == 0.0
             ? usageError("--nesterov needs a --momentum above 0")
             : Status();
}

/// Products stand alone where each op is a kernel of its own.
static Status checkPlaces(const StepOptions &step) {
  for (const std::string &text : step.placement.place) {
    auto rule = PlaceRule::parse(text);
    if (step.debugOverflow && rule.ok() && rule->op.starts_with("matmul"))
      return usageError("--place={} cannot be with --debug-overflow: the "
                        "library computes products, each alone",
                        text);
  }
  return {};
}

void StepOptions::addTo(OptionTable &table) {
  target.addTo(table);
  random.addTo(table);
  placement.addTo(table);
  loss.addTo(table);
  optimizer.addTo(table);
  accumulate.addTo(table);
  clip.addTo(table);
  statistics.addTo(table);
  table.toggle("train.debug-overflow", debugOverflow,
               "a kernel for each op, slow: dlc train --debug-overflow names "
               "one node");
  outlier.addTo(table);
  schedule.addTo(table);
  amp.addTo(table);
  scaler.addTo(table);
  ema.addTo(table);
  allReduce.addTo(table);
  lora.addTo(table);
  table.require([this](auto &) {
    return statistics.enabled && allReduce.shards()
               ? usageError("--stats needs whole parameters on each rank, and "
                            "--zero=1 leaves it a part: leave one of them out")
               : Status();
  });
  table.require([this](auto &) { return checkScaler(*this); });
  table.require([this](auto &) { return checkNesterov(*this); });
  table.require([this](auto &) { return checkPlaces(*this); });
}

} // namespace dlc
