// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Validation.h"

#include "runtime/plan/Averages.h"
#include "runtime/train/session/State.h"

#include <algorithm>

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

// Reports the completed share of all `sweeps` after each batch of the session.
static void tellBatches(RunSetup &setup, int64_t sweeps,
                        const std::function<void(double)> &tell) {
  const int64_t batch = setup.sampling.batch * setup.sampling.world;
  int64_t batches = 0;
  for (const Dataset &set : setup.val.sets)
    batches += sweeps * ((set.samples() + batch - 1) / batch);
  setup.session->setGoesOn([tell, batches, done = int64_t()]() mutable {
    tell(std::min(1.0, double(++done) / double(batches)));
    return true;
  });
}

Result<ValidationEvent> validate(RunSetup &setup, const Progress &progress,
                                 const std::function<void(double)> &tell) {
  Executor &executor = setup.session->executor();
  ValidationEvent event;
  event.epoch = progress.cursor.epoch;
  event.step = progress.step;
  const int sets = plan::countAverages(setup.session->plan());
  tellBatches(setup, (1 + sets) * (setup.judge ? 2 : 1), tell);
  DLC_TRY(evaluateInto("val", setup, event));
  if (sets > 0)
    DLC_TRY(executor.gatherState(setup.ranks, true));
  for (int set = 1; set <= sets; ++set) {
    DLC_ASSIGN(StateBytes trained, useAverages(executor, set));
    Status status = evaluateInto(plan::averagesName(set), setup, event);
    DLC_TRY(restoreStates(executor, trained));
    DLC_TRY(status);
  }
  executor.dropGathered();
  setup.session->setGoesOn({});
  tell(1);
  return event;
}

} // namespace dlc
