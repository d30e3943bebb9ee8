// SPDX-License-Identifier: Apache-2.0
#include "passes/optimizer/LearningRate.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {
namespace {

void addMilestones(OptionTable &table, std::vector<int64_t> &milestones) {
  Option &row =
      table.add("train.milestones", "times at which lr decays", "A,B,...");
  row.only("train.schedule", {"multistep"})
      .in("train.schedule", "milestones", {"multistep"});
  row.commas = true;
  row.set = [&milestones](auto &words) -> Status {
    std::vector<int64_t> read;
    for (const std::string &word : words) {
      DLC_ASSIGN(int64_t at, parseCount(word, 1));
      if (!read.empty() && at < read.back())
        return usageError("expected rising numbers, found {}",
                          fmt::join(words, ","));
      read.push_back(at);
    }
    milestones = std::move(read);
    return {};
  };
  row.get = [&milestones] {
    Words words;
    for (int64_t at : milestones)
      words.push_back(std::to_string(at));
    return words;
  };
}

Status check(const ScheduleOptions &o, const OptionTable &table,
             const OptionTable::Given &given) {
  if (o.name == "multistep" && o.milestones.empty())
    return usageError("--schedule=multistep needs its argument milestones: "
                      "--schedule='multistep(milestones=[A,B])'");
  if (o.name == "exponential" && isGiven(given, "train.schedule") &&
      !isGiven(given, "train.decay-rate"))
    return usageError("--schedule=exponential needs its argument decay_rate: "
                      "--schedule='exponential(decay_rate=0.999)'");
  if (o.cycleSteps == 0)
    for (const std::string &key : given)
      if (key == "train.cycle-mult" || key == "train.cycle-decay")
        return usageError("{} needs --schedule='cosine(cycle_steps=N)'",
                          table.find(key)->argument);
  if (!o.perEpoch && o.totalSteps && o.warmup >= o.totalSteps)
    return usageError("--warmup={} leaves no step of --steps={}", o.warmup,
                      o.totalSteps);
  return {};
}

void addPlateau(OptionTable &table, ScheduleOptions &o) {
  const auto argument = [](Option &row, const char *name) {
    row.only("train.schedule", {"plateau"})
        .in("train.schedule", name, {"plateau"});
  };
  argument(table.number("train.plateau-factor", o.plateauFactor, 0, 0.999999,
                        "factor of lr at each reduction"),
           "factor");
  argument(table.count("train.plateau-patience", o.plateauPatience, 0,
                       "validations without improvement that are tolerated"),
           "patience");
  argument(table.number("train.plateau-threshold", o.plateauThreshold, 0, 1,
                        "smallest relative difference that is an improvement"),
           "threshold");
}

/// Makes a row an argument of schedules: --schedule='cosine(min_lr=0.01)'.
void addScheduleArgument(Option &row, const Words &names) {
  std::string argument = row.name();
  std::replace(argument.begin(), argument.end(), '-', '_');
  row.only("train.schedule", names)
      .in("train.schedule", std::move(argument), names);
}

void addOneCycle(OptionTable &table, ScheduleOptions &o) {
  addScheduleArgument(table.number("train.pct-start", o.pctStart, kAboveZero,
                                   0.999,
                                   "share of the training in which lr rises"),
                      {"onecycle"});
  addScheduleArgument(
      table.number("train.div-factor", o.divFactor, kAboveZero, kNoLimit,
                   "ratio of the peak learning rate to the initial one"),
      {"onecycle"});
  addScheduleArgument(
      table.number("train.final-div-factor", o.finalDivFactor, kAboveZero,
                   kNoLimit,
                   "ratio of the initial learning rate to the final one"),
      {"onecycle"});
  addScheduleArgument(
      table
          .toggle("train.cycle-momentum", o.cycleMomentum,
                  "momentum, or beta1, cycles inversely to lr; an optimizer "
                  "whose momentum is not set gets one, as in torch")
          .described("{true,false}"),
      {"onecycle"});
  table
      .number("train.base-momentum", o.baseMomentum, 0, 0.999999,
              "momentum at the peak learning rate")
      .only("train.cycle-momentum", {"true"})
      .in("train.schedule", "base_momentum", {"onecycle"});
  table
      .number("train.max-momentum", o.maxMomentum, 0, 0.999999,
              "momentum at the start and the end of the cycle")
      .only("train.cycle-momentum", {"true"})
      .in("train.schedule", "max_momentum", {"onecycle"});
}

void addScheduleArguments(OptionTable &table, ScheduleOptions &o) {
  addScheduleArgument(table.count("train.decay-steps", o.decaySteps, 1,
                                  "interval between decays; of wsd: number of "
                                  "steps at the end in which lr decays"),
                      {"step", "wsd"});
  addScheduleArgument(table.number("train.decay-rate", o.decayRate, 0, kNoLimit,
                                   "factor of lr at each decay"),
                      {"step", "multistep", "exponential"});
  addScheduleArgument(
      table.count("train.timescale", o.timescale, 0,
                  "N of lr / sqrt(1 + t / N); 0: the warm-up's length, or "
                  "10000 without one"),
      {"inverse_sqrt"});
  addScheduleArgument(table.choice("train.decay", o.decay,
                                   {"cosine", "linear", "sqrt"},
                                   "curve of the decay; sqrt: 1 - sqrt(x)"),
                      {"wsd"});
  addMilestones(table, o.milestones);
  addScheduleArgument(table.number("train.start-factor", o.startFactor, 0,
                                   kNoLimit, "factor of lr at the start"),
                      {"linear"});
  addScheduleArgument(table.number("train.end-factor", o.endFactor, 0, kNoLimit,
                                   "factor of lr at the end"),
                      {"linear"});
  addScheduleArgument(
      table.number("train.min-lr", o.minLr, 0, kNoLimit, "final learning rate"),
      {"cosine", "polynomial", "wsd", "plateau"});
  addScheduleArgument(
      table.count("train.cycle-steps", o.cycleSteps, 0,
                  "length of the first cosine cycle; 0: one cycle over the "
                  "whole training"),
      {"cosine"});
  addScheduleArgument(
      table.count("train.cycle-mult", o.cycleMult, 1,
                  "ratio of a cycle's length to the previous cycle's"),
      {"cosine"});
  addScheduleArgument(
      table.number("train.cycle-decay", o.cycleDecay, 0, kNoLimit,
                   "ratio of a cycle's peak learning rate to the previous "
                   "cycle's"),
      {"cosine"});
  addScheduleArgument(table.number("train.power", o.power, 0, kNoLimit,
                                   "exponent of (1 - t / T)^power"),
                      {"polynomial"});
  addOneCycle(table, o);
  addPlateau(table, o);
}

} // namespace

void ScheduleOptions::addTo(OptionTable &table) {
  table.choice("train.schedule", name, scheduleNames(),
               "schedule of the learning rate after the warm-up");
  table.either("train.schedule-per", perEpoch, "update", "epoch",
               "unit of --warmup and of the schedule's lengths");
  table.count("train.warmup", warmup, 0,
              "length of the linear warm-up from --warmup-start-factor to 1");
  table
      .number(
          "train.warmup-start-factor", warmupStart, kAboveZero, 1,
          "factor of lr at the start of the warm-up (default: 1 / --warmup)")
      .only("train.warmup", {});
  table.count(
      "train.steps", totalSteps, 0,
      "updates of the whole training; 0: the number that dlc train computes");
  addScheduleArguments(table, *this);
  table.require(
      [this, &table](auto &given) { return check(*this, table, given); });
}

} // namespace dlc
