// SPDX-License-Identifier: Apache-2.0
#include "passes/optimizer/Schedule.h"

#include <fmt/ranges.h>

namespace dlc {
namespace {

void addMilestones(OptionTable &table, std::vector<int64_t> &milestones) {
  Option &row =
      table.add("train.milestones", "times at which lr decays", "A,B,...")
          .only("train.schedule", {"multistep"});
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
    return usageError("--schedule=multistep needs --milestones=A,B,...");
  if (o.cycleSteps == 0)
    for (const std::string &key : given)
      if (key == "train.cycle-mult" || key == "train.cycle-decay")
        return usageError("{} needs --cycle-steps", table.find(key)->flag);
  if (!o.perEpoch && o.totalSteps && o.warmup >= o.totalSteps)
    return usageError("--warmup={} leaves no step of --steps={}", o.warmup,
                      o.totalSteps);
  return {};
}

} // namespace

void ScheduleOptions::addTo(OptionTable &table) {
  auto of = [](Option &row, Words names) {
    row.only("train.schedule", std::move(names));
  };
  table.choice("train.schedule", name, scheduleNames(),
               "schedule of the learning rate after the warm-up");
  table.either(
      "train.schedule-per", perEpoch, "update", "epoch",
      "unit of --warmup, --decay-steps, --milestones and --cycle-steps");
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
  of(table.count("train.decay-steps", decaySteps, 1, "interval between decays"),
     {"step"});
  of(table.number("train.decay-rate", decayRate, 0, kNoLimit,
                  "factor of lr at each decay"),
     {"step", "multistep"});
  addMilestones(table, milestones);
  of(table.number("train.start-factor", startFactor, 0, kNoLimit,
                  "factor of lr at the start"),
     {"linear"});
  of(table.number("train.end-factor", endFactor, 0, kNoLimit,
                  "factor of lr at the end"),
     {"linear"});
  of(table.number("train.min-lr", minLr, 0, kNoLimit, "final learning rate"),
     {"cosine", "polynomial"});
  of(table.count("train.cycle-steps", cycleSteps, 0,
                 "length of the first cosine cycle; 0: one cycle over the "
                 "whole training"),
     {"cosine"});
  of(table.count("train.cycle-mult", cycleMult, 1,
                 "ratio of a cycle's length to the previous cycle's"),
     {"cosine"});
  of(table.number(
         "train.cycle-decay", cycleDecay, 0, kNoLimit,
         "ratio of a cycle's peak learning rate to the previous cycle's"),
     {"cosine"});
  of(table.number("train.power", power, 0, kNoLimit,
                  "exponent of (1 - t / T)^power"),
     {"polynomial"});
  of(table.number("train.pct-start", pctStart, kAboveZero, 0.999,
                  "share of the training in which lr rises"),
     {"onecycle"});
  of(table.number("train.div-factor", divFactor, kAboveZero, kNoLimit,
                  "ratio of the peak learning rate to the initial one"),
     {"onecycle"});
  of(table.number("train.final-div-factor", finalDivFactor, kAboveZero,
                  kNoLimit,
                  "ratio of the initial learning rate to the final one"),
     {"onecycle"});
  of(table
         .toggle("train.cycle-momentum", cycleMomentum,
                 "momentum, or beta1, cycles inversely to lr; an optimizer "
                 "whose momentum is not set gets one, as in torch")
         .described("{true,false}"),
     {"onecycle"});
  table
      .number("train.base-momentum", baseMomentum, 0, 0.999999,
              "momentum at the peak learning rate")
      .only("train.cycle-momentum", {"true"});
  table
      .number("train.max-momentum", maxMomentum, 0, 0.999999,
              "momentum at the start and the end of the cycle")
      .only("train.cycle-momentum", {"true"});
  table.require(
      [this, &table](auto &given) { return check(*this, table, given); });
}

} // namespace dlc
