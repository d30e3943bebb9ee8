// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Validation.h"

#include "runtime/plan/Averages.h"
#include "runtime/train/session/State.h"

namespace dlc {

static void setValue(EpochEvent &event, const std::string &key, double value) {
  for (auto &[name, known] : event.values)
    if (name == key) {
      known = value;
      return;
    }
  event.values.emplace_back(key, value);
}

static Status evaluateInto(std::string_view name, RunSetup &setup,
                           ValidationEvent &event) {
  DLC_ASSIGN(EvalResult result, setup.session->evaluate(setup.val.sets));
  event.values.emplace_back(fmt::format("{}_loss", name), result.loss);
  if (result.accuracy)
    event.values.emplace_back(fmt::format("{}_accuracy", name),
                              *result.accuracy);
  if (!setup.judge)
    return {};
  DLC_ASSIGN(Judgement judgement, setup.judge->judge());
  for (const auto &[metric, value] : judgement.values)
    setValue(event, fmt::format("{}_{}", name, metric), value);
  if (!event.judgement)
    event.judgement = std::move(judgement);
  return {};
}

Result<ValidationEvent> validate(RunSetup &setup, const Progress &progress) {
  Executor &executor = setup.session->executor();
  ValidationEvent event;
  event.epoch = progress.cursor.epoch;
  event.step = progress.step;
  DLC_TRY(evaluateInto("val", setup, event));
  const int sets = plan::countAverages(setup.session->plan());
  if (sets > 0)
    DLC_TRY(executor.gatherState(setup.ranks, true));
  for (int set = 1; set <= sets; ++set) {
    DLC_ASSIGN(StateBytes trained, useAverages(executor, set));
    Status status = evaluateInto(plan::averagesName(set), setup, event);
    DLC_TRY(restoreStates(executor, trained));
    DLC_TRY(status);
  }
  executor.dropGathered();
  return event;
}

} // namespace dlc
