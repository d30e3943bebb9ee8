// SPDX-License-Identifier: Apache-2.0
#include "passes/optimizer/Schedule.h"

#include <fmt/ranges.h>

namespace dlc {
namespace {

void addMilestones(OptionTable &table, std::vector<int64_t> &milestones) {
  Option &row = table.add("train.milestones", "where it decays", "A,B,...")
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
    return usageError("--warmup={} leaves none of --steps={}", o.warmup,
                      o.totalSteps);
  return {};
}

} // namespace

void ScheduleOptions::addTo(OptionTable &table) {
  auto of = [](Option &row, Words names) {
    row.only("train.schedule", std::move(names));
  };
  table.choice("train.schedule", name, scheduleNames(), "of the learning rate");
  table.either("train.schedule-per", perEpoch, "update", "epoch",
               "unit of the lengths below");
  table.count("train.warmup", warmup, 0, "length of the linear warm-up");
  table
      .number("train.warmup-start-factor", warmupStart, kAboveZero, 1,
              "factor of lr at its start (default: 1 / its length)")
      .only("train.warmup", {});
  table.count("train.steps", totalSteps, 0,
              "updates of the whole training; 0: set by dlc train");
  of(table.count("train.decay-steps", decaySteps, 1, "length between decays"),
     {"step"});
  of(table.number("train.decay-rate", decayRate, 0, kNoLimit,
                  "factor of a decay"),
     {"step", "multistep"});
  addMilestones(table, milestones);
  of(table.number("train.start-factor", startFactor, 0, kNoLimit,
                  "factor of lr at the start"),
     {"linear"});
  of(table.number("train.end-factor", endFactor, 0, kNoLimit,
                  "factor of lr at the end"),
     {"linear"});
  of(table.number("train.min-lr", minLr, 0, kNoLimit, "where it ends"),
     {"cosine", "polynomial"});
  of(table.count("train.cycle-steps", cycleSteps, 0,
                 "length of the first cycle; 0: no restarts"),
     {"cosine"});
  of(table.count("train.cycle-mult", cycleMult, 1,
                 "each cycle's length by the one before"),
     {"cosine"});
  of(table.number("train.cycle-decay", cycleDecay, 0, kNoLimit,
                  "each cycle's rate by the one before"),
     {"cosine"});
  of(table.number("train.power", power, 0, kNoLimit, "of the polynomial"),
     {"polynomial"});
  of(table.number("train.pct-start", pctStart, kAboveZero, 0.999,
                  "share of the rise"),
     {"onecycle"});
  of(table.number("train.div-factor", divFactor, kAboveZero, kNoLimit,
                  "peak rate by the first"),
     {"onecycle"});
  of(table.number("train.final-div-factor", finalDivFactor, kAboveZero,
                  kNoLimit, "first rate by the last"),
     {"onecycle"});
  of(table
         .toggle("train.cycle-momentum", cycleMomentum,
                 "momentum, or beta1, moves against the rate; an optimizer "
                 "with a momentum that is not given has one, as in torch")
         .described("{true,false}"),
     {"onecycle"});
  table
      .number("train.base-momentum", baseMomentum, 0, 0.999999,
              "at the highest rate")
      .only("train.cycle-momentum", {"true"});
  table.number("train.max-momentum", maxMomentum, 0, 0.999999, "at both ends")
      .only("train.cycle-momentum", {"true"});
  table.require(
      [this, &table](auto &given) { return check(*this, table, given); });
}

} // namespace dlc
