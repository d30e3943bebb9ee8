// SPDX-License-Identifier: Apache-2.0
// Options of the optimizer, gradients and ranks.
#include "passes/loss/LossTerms.h"
#include "passes/optimizer/ParameterGroups.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {

static void addBetas(OptionTable &table, OptimizerOptions &o) {
  Option &betas =
      table
          .add("train.betas",
               "decay rates of the first and second moment; default " +
                   defaultsText("betas"),
               "A,B")
          .only("train.optimizer", readersOf("betas"))
          .in("train.optimizer", "betas", readersOf("betas"));
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

/// Makes a row an argument of the optimizers that read it.
static void own(Option &row) {
  const Words readers = readersOf(row.name());
  std::string argument = row.name();
  std::replace(argument.begin(), argument.end(), '-', '_');
  row.only("train.optimizer", readers)
      .in("train.optimizer", std::move(argument), readers);
}

static void addRareArguments(OptionTable &table, OptimizerOptions &o) {
  own(table.number("train.momentum-decay", o.momentumDecay, 0, kNoLimit,
                   "decay d of the momentum beta1 (1 - 0.96^(t d) / 2) of "
                   "update t; default " +
                       defaultsText("momentum-decay")));
  own(table.toggle("train.decoupled-weight-decay", o.decoupledDecay,
                   "weight decay apart from the gradient, as in adamw"));
  own(table.number("train.beta2-decay", o.beta2Decay, -kNoLimit, 0,
                   "exponent of 1 - beta2 = t^beta2_decay; default " +
                       defaultsText("beta2-decay")));
  own(table.number("train.eps2", o.eps2, 0, kNoLimit,
                   "lower bound of the root mean square of a parameter, by "
                   "which its update is scaled; default " +
                       defaultsText("eps2")));
  own(table.number("train.clip-threshold", o.clipThreshold, 1, kNoLimit,
                   "bound on the root mean square of an update; default " +
                       defaultsText("clip-threshold")));
  own(table.number("train.trust-coefficient", o.trustCoefficient, kAboveZero,
                   kNoLimit,
                   "ratio of an update's norm to the parameter's at lr 1; "
                   "default " +
                       defaultsText("trust-coefficient")));
}

void OptimizerOptions::addTo(OptionTable &table) {
  table.choice("train.optimizer", name, optimizerNames(), "update rule");
  table.number("train.lr", lr, 0, kNoLimit,
               "learning rate (default " + defaultsText("lr") + ")");
  table.number("train.weight-decay", weightDecay, 0, kNoLimit,
               "weight decay (default " + defaultsText("weight-decay") + ")");
  own(table.number("train.momentum", momentum, 0, 1,
                   "momentum; default " + defaultsText("momentum")));
  own(table.toggle("train.nesterov", nesterov, "Nesterov's momentum"));
  own(table.number("train.dampening", dampening, 0, 1,
                   "dampening of the momentum"));
  addBetas(table, *this);
  own(table.number(
      "train.eps", epsilon, kAboveZero, kNoLimit,
      "number added to the denominator for numerical stability; default " +
          defaultsText("eps")));
  own(table.number("train.alpha", alpha, 0, 1,
                   "decay rate of the mean of squared gradients; default " +
                       defaultsText("alpha")));
  own(table.toggle("train.amsgrad", amsgrad,
                   "AMSGrad: the denominator uses the maximum of all second "
                   "moments so far"));
  addRareArguments(table, *this);
  table.choice("train.moments", moments, {"f32", "bf16", "8bit"},
               "storage type of moments; 8bit: codes and a factor for each 256 "
               "elements, for parameters of at least 4096; arithmetic is f32");
  table.list("train.lr-scale", lrScale, "REGEX:FACTOR",
             "factor of lr for parameters whose names match; the first "
             "matching rule applies");
  table.list("train.weight-decay-scale", weightDecayScale, "REGEX:FACTOR",
             "factor of weight-decay for parameters whose names match; the "
             "first matching rule applies");
  table.list("train.optimizer-group", groups, "REGEX:NAME[(KEY=VALUE...)]",
             "another optimizer for parameters whose names match, with its own "
             "lr, momentum, ...");
  table.choice(
      "train.no-decay", noDecay, {"none", "norm_bias"},
      "parameters without weight decay; norm_bias: vectors and biases");
  table.choice("train.sparse-embeddings", sparse, {"exact", "lazy", "off"},
               "updates of only those rows of embedding tables that a step "
               "looks up; exact: where other rows would not change (sgd and "
               "adagrad without momentum and weight decay); lazy: also where "
               "they would; their moments then do not change either");
}

void AccumulateOptions::addTo(OptionTable &table) {
  table.count(
      "train.accumulate", count, 1,
      "micro-batches of --batch rows per update, whose gradients are averaged",
      1 << 20);
}

void ClipOptions::addTo(OptionTable &table) {
  table.number("train.clip-value", maxValue, 0, kNoLimit,
               "bound on the magnitude of gradient elements; 0: none");
  table.number("train.clip-grad", maxNorm, 0, kNoLimit,
               "bound on the norm of all gradients together; 0: none");
  table.number("train.clip-param-grad", maxParameterNorm, 0, kNoLimit,
               "bound on the norm of each parameter's gradient, applied before "
               "--clip-value and --clip-grad; 0: none");
  table.toggle("train.grad-norm", reportNorm,
               "report of the norm of all gradients, without clipping");
}

void StatisticsOptions::addTo(OptionTable &table) {
  table.toggle(
      "train.stats", enabled,
      "norm, mean, standard deviation and largest magnitude of each parameter "
      "and its gradient, which dlc train --stats-every reports");
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
  if (parts[0] != "powersgd" || parts.size() < 2 || parts.size() > 4)
    return usageError("expected none, bf16, fp16 or powersgd:RANK, found '{}'",
                      word);
  DLC_ASSIGN(powerRank, parseCount(parts[1], 1, 1024));
  if (parts.size() > 2) {
    DLC_ASSIGN(powerRate, parseNumber(parts[2], kAboveZero, 1e6));
  }
  if (parts.size() > 3) {
    DLC_ASSIGN(powerStart, parseCount(parts[3], 0, 1 << 30));
  }
  compress = "powersgd";
  return {};
}

void AllReduceOptions::addTo(OptionTable &table) {
  table
      .count("ddp.ranks", world, 1,
             "number of ranks (processes) that train together", 65536)
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
  Option &bucket =
      megabytes("ddp.bucket-mb", bucketBytes,
                "size of an all-reduce bucket in MiB; auto: a sixteenth of the "
                "gradients, between 1 and 25");
  bucket.set = [this, number = bucket.set](auto &words) -> Status {
    if (words != Words{"auto"})
      return number(words);
    bucketBytes = 0;
    return {};
  };
  bucket.get = [this, number = bucket.get] {
    return bucketBytes ? number() : Words{"auto"};
  };
  megabytes("ddp.first-bucket-mb", firstBucketBytes,
            "size of the first bucket in MiB, if smaller than --bucket-mb: its "
            "all-reduce starts earlier");
  table
      .toggle("ddp.sync-bn", syncBatchNorm,
              "batch norm with the statistics of all ranks' batches")
      .named("--sync-bn");
  Option &compressed =
      table
          .add("ddp.compress",
               "compression of gradients between ranks: none; bf16, fp16: "
               "rounded; powersgd:RANK[:RATE[:START]]: low-rank factors of "
               "matrices that become at least RATE (2) times smaller, after "
               "START (0) updates with whole gradients",
               "WORD")
          .named("--compress");
  compressed.set = [this](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    return setCompress(word);
  };
  compressed.get = [this] {
    if (compress != "powersgd")
      return Words{compress};
    std::string word =
        "powersgd:" + std::to_string(powerRank) + ":" + numberText(powerRate);
    if (powerStart > 0)
      word += ":" + std::to_string(powerStart);
    return Words{word};
  };
  table
      .count("ddp.zero", zero, 0,
             "ZeRO level, the state that is sharded over ranks: 0: none; 1: "
             "moments and averages; 2: gradients, too; 3: parameters, too",
             3)
      .named("--zero");
  table
      .count("ddp.zero-prefetch", zeroPrefetch, 0,
             "buckets of parameters that are all-gathered ahead of their use",
             1024)
      .only("ddp.zero", {"3"});
  megabytes("ddp.zero-whole-mb", zeroWholeBytes,
            "size in MiB below which a bucket's parameters are replicated, not "
            "sharded")
      .only("ddp.zero", {"3"});
  table.count("ddp.sync-every", syncEvery, 0,
              "local steps of each rank between averages of the ranks' "
              "parameter changes; 0: gradients are averaged in each step",
              1 << 30);
  Option &row = table
                    .add("ddp.outer-optimizer",
                         "optimizer of the averaged changes of --sync-every; "
                         "the default is DiLoCo's, sgd(lr=1) the plain average",
                         "sgd(lr=NUMBER,...)")
                    .only("ddp.sync-every", {});
  row.set = [this](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    DLC_TRY(readOuterOptimizer(word).status());
    outer = word;
    return {};
  };
  row.get = [this] { return Words{outer}; };
}

int64_t AllReduceOptions::bucketSize(int64_t all) const {
  constexpr int64_t kFewest = 1 << 20, kMost = 25 << 20, kBuckets = 16;
  return bucketBytes ? bucketBytes : std::clamp(all / kBuckets, kFewest, kMost);
}

void RandomOptions::addTo(OptionTable &table) {
  table.count("model.seed", seed, 0, "seed of initial values and dropout");
}

void LoraOptions::addTo(OptionTable &table) {
  table
      .count("lora.rank", rank, 0,
             "rank of LoRA adapters, which train while the weights are frozen; "
             "0: no adapters",
             1 << 16)
      .named("--lora");
  table
      .number("lora.alpha", alpha, kAboveZero, kNoLimit,
              "alpha of the adapters' scale alpha / rank")
      .named("--lora-alpha")
      .only("lora.rank", {});
  table
      .patterns("lora.targets", targets,
                "weights with adapters; default: those of all matrix products")
      .named("--lora-targets")
      .only("lora.rank", {});
  table
      .patterns("lora.trained", trained,
                "weights that train beside the adapters, in addition to those "
                "of --train and a new head")
      .named("--lora-trained")
      .only("lora.rank", {});
}

static Status checkNesterov(StepOptions step) {
  step.resolve();
  return step.optimizer.nesterov.value_or(false) &&
                 step.optimizer.momentum == 0.0
             ? usageError("--optimizer: nesterov needs a momentum above 0")
             : Status();
}

static Status checkBlocks(const StepOptions &step) {
  return step.optimizer.moments == "8bit" && step.allReduce.level() > 0
             ? usageError("--moments=8bit keeps blocks of 256 elements, which "
                          "--zero would split over the ranks: use "
                          "--moments=bf16, or --zero=0")
             : Status();
}

/// debugOverflow disables matmul fusion so that each op can be checked.
static Status checkPlaces(const StepOptions &step) {
  for (const std::string &text : step.placement.place) {
    auto rule = PlaceRule::parse(text);
    if (step.debugOverflow && rule.ok() && rule->op.starts_with("matmul"))
      return usageError(
          "--place={} conflicts with --debug-overflow, which computes each "
          "matrix product by itself, with the library",
          text);
  }
  return {};
}

static Status checkLocal(StepOptions step) {
  step.resolve();
  const AllReduceOptions &o = step.allReduce;
  const char *other = !o.isLocal()                      ? nullptr
                      : o.zero > 0                      ? "--zero"
                      : o.compress != "none"            ? "--compress"
                      : o.syncBatchNorm                 ? "--sync-bn"
                      : step.scaler.scale != "none"     ? "--loss-scale"
                      : step.ema.enabled                ? "--ema"
                      : step.optimizer.moments != "f32" ? "--moments"
                                                        : nullptr;
  return other ? usageError("--sync-every={} conflicts with {}, as each rank "
                            "updates locally: drop one of the two",
                            o.syncEvery, other)
               : Status();
}

static Status checkFloat8(const StepOptions &step) {
  if (step.amp.delaysScales() && step.allReduce.isLocal())
    return usageError("--fp8-scaling=delayed needs the same scales on all "
                      "ranks, which step by themselves with --sync-every: use "
                      "--fp8-scaling=current");
  return {};
}

void StepOptions::resolve() {
  amp.resolve();
  if (schedule.name == "onecycle" && schedule.cycleMomentum)
    optimizer.cycledMomentum = schedule.maxMomentum;
  optimizer.resolve();
  if (scaler.scale == "auto")
    scaler.scale = amp.dtype == "fp16" && amp.enabled() && amp.level != "O3"
                       ? "dynamic"
                       : "none";
  if (ema.kind == "auto")
    ema.kind = ema.decay || ema.halflife ? "constant" : "ultralytics";
  if (!ema.decay && !ema.halflife && ema.kind != "swa")
    ema.decay = 0.9999;
}

void StepOptions::addTo(OptionTable &table) {
  target.addTo(table);
  inputs.addTo(table);
  random.addTo(table);
  placement.addTo(table);
  loss.addTo(table);
  distill.addTo(table);
  optimizer.addTo(table);
  accumulate.addTo(table);
  clip.addTo(table);
  statistics.addTo(table);
  table.toggle("train.debug-overflow", debugOverflow,
               "one kernel per op, without fusion, so that dlc train "
               "--debug-overflow names a single node; slow");
  schedule.addTo(table);
  amp.addTo(table);
  scaler.addTo(table);
  ema.addTo(table);
  allReduce.addTo(table);
  lora.addTo(table);
  table.require([this](auto &) {
    return statistics.enabled && allReduce.level() > 0
               ? usageError("--stats needs complete parameters on each rank, "
                            "but --zero shards them: drop one of the two")
               : Status();
  });
  table.require([this](auto &) {
    return !distill.terms.empty() && !loss.params.empty()
               ? usageError("--distill adds to the loss of all parameters, so "
                            "that it conflicts with --loss-params: drop one")
               : Status();
  });
  table.require([this](auto &) { return checkNesterov(*this); });
  table.require([this](auto &) { return checkBlocks(*this); });
  table.require([this](auto &) { return checkLocal(*this); });
  table.require([this](auto &) { return checkFloat8(*this); });
  table.require([this](auto &) { return checkPlaces(*this); });
}

} // namespace dlc
