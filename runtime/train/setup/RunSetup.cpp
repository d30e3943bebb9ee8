// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/setup/RunSetup.h"

#include "runtime/base/Text.h"
#include "runtime/base/options/Environment.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/device/TuneChoices.h"
#include "runtime/plan/Ports.h"
#include "runtime/train/Agree.h"
#include "runtime/train/Samples.h"
#include "runtime/train/run/RunFolder.h"
#include "runtime/train/session/EqualRanks.h"

#include <algorithm>
#include <cmath>

namespace dlc {

static constexpr std::chrono::hours kMeasuring(1); // others wait for rank 0

// Makes each path of a list absolute, except standard input.
static std::string absolutePaths(const std::string &list) {
  if (list == kStandardInput)
    return list;
  return joined(pathsIn(list), ",", absolutePath);
}

// A run stores absolute paths of files, and names of a program's samples.
static Status expectPath(const TrainOptions &o, const std::string &key,
                         const std::string &list) {
  if (o.resume.empty() || isGiven(o.given, key) || list.empty() ||
      list == kStandardInput || list.starts_with('/'))
    return {};
  return failed("run '{}' had '{}', samples of a program: pass them again",
                o.resume, list);
}

std::string batchText(const Sampling &sampling) {
  return sampling.window == 1 ? fmt::format("{}", sampling.batch)
                              : fmt::format("{} micro-batches of {}",
                                            sampling.window, sampling.batch);
}

std::string ranksText(const Sampling &sampling) {
  return sampling.world == 1 ? "1 rank"
                             : fmt::format("{} ranks", sampling.world);
}

Result<std::unique_ptr<RunSetup>> RunSetup::make(const TrainOptions &given,
                                                 const TrainHooks &hooks,
                                                 Communicator &ranks) {
  if (!hooks.data)
    DLC_TRY(expectPath(given, "run.data", given.data));
  if (!hooks.val)
    DLC_TRY(expectPath(given, "run.val", given.val));
  TrainOptions options = given;
  options.artifact = absolutePath(options.artifact);
  options.data = absolutePaths(options.data);
  options.val = absolutePaths(options.val);
  options.samples.tokenizer = absolutePath(options.samples.tokenizer);
  options.state = absolutePath(options.state);
  if (hooks.data)
    options.data = hooks.data->name();
  if (hooks.val)
    options.val = hooks.val->name();
  OptionTable table;
  options.addTo(table);
  DLC_TRY(table.validate());
  std::unique_ptr<RunSetup> setup(new RunSetup(options, hooks, ranks));
  setup->infiniteSteps = environment::infiniteSteps();
  return setup;
}

// Selects the checkpoint, which does not change if the other run continues.
Status RunSetup::findState() {
  DLC_ASSIGN(from, openModel(options.state, Artifact::Use::State));
  if (!from->checkpoint)
    return usageError("--state={}: expected a run or a checkpoint, found an "
                      "artifact: --state continues a training; the weights of "
                      "a file are those of dlc compile --weights",
                      options.state);
  options.state = from->checkpoint->path;
  if (total <= from->checkpoint->step)
    return usageError(
        "--state={} is of step {}, and the run ends with step {}: --steps and "
        "--epochs count from step 0 of the first run",
        options.state, from->checkpoint->step, total);
  return {};
}

Status RunSetup::prepare() {
  DLC_TRY(agree(ranks, findGroup()));
  DLC_TRY(agree(ranks, loadData()));
  DLC_TRY(bindStep());
  DLC_TRY(agree(ranks, settleLength()));
  if (options.resume.empty() && !options.state.empty())
    DLC_TRY(onRoot(ranks, [&] { return findState(); }));
  return agree(ranks, checkSameSetup());
}

void RunSetup::beginAt(Progress &progress) {
  progress.cursor.taken.resize(data.sets.size() > 1 ? data.sets.size() : 0);
  progress.dataHash = dataHash;
  progress.samples = data.samples();
  progress.world = ranks.size();
  sampling.since = progress.step;
  sampling.from = progress.cursor;
}

Status RunSetup::settleBuffers() {
  return dlc::settleBuffers(
      session->executor(), ranks,
      options.bnBuffers == "mean" ? BufferMode::Mean : BufferMode::Broadcast);
}

bool RunSetup::injects(int64_t step) const {
  return isRoot() && infiniteSteps.count(step) > 0;
}

bool RunSetup::reports(std::string_view metric) const {
  const auto &names = session->metricNames();
  return std::ranges::count(names, metric) > 0;
}

double RunSetup::metric(std::span<const double> values,
                        std::string_view name) const {
  const auto &names = session->metricNames();
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return values[i];
  return NAN;
}

Result<RunSetup::Window> RunSetup::windowOf(int64_t step) const {
  Loader loader(data.sets, sampling, step - 1, step);
  Window window;
  for (;;) {
    DLC_ASSIGN(const Loader::Made *made, loader.next());
    if (!made)
      return window;
    window.batches.push_back(made->batch);
    window.size = data.sizes[made->set];
  }
}

Status RunSetup::bindPrograms() {
  Executor &executor = session->executor();
  if (options.debugOverflow && executor.hasParts())
    return usageError("--debug-overflow keeps a copy of all state, which "
                      "--zero splits over ranks: compile with --zero=0");
  for (const plan::Program &program : session->plan().programs())
    if (const auto kind = plan::kindOf(program);
        (kind == plan::kTrain || kind == plan::kStart ||
         kind == "accumulate_step") &&
        std::ranges::find(data.sizes, int(program.size())) != data.sizes.end())
      DLC_TRY(executor.prepare(program.name()));
  return {};
}

// Rank 0 tunes GPU libraries; the others use its choices, wherever their caches
// are. There is nothing to tune on a CPU.
Status RunSetup::bindStep() {
  if (ranks.size() == 1 || session->executor().isOnHost())
    return agree(ranks, bindPrograms());
  DLC_ASSIGN(const auto patient, ranks.sibling(kMeasuring));
  DLC_TRY(onRoot(*patient, [&] { return bindPrograms(); }));
  std::string choices = options.tune.choices->toText();
  uint64_t bytes = choices.size();
  DLC_TRY(patient->broadcast(&bytes, sizeof bytes, 0));
  choices.resize(bytes);
  DLC_TRY(patient->broadcast(choices.data(), bytes, 0));
  return onOthers(ranks, [&]() -> Status {
    DLC_TRY(options.tune.choices->adopt(choices));
    return bindPrograms();
  });
}

// Ranks with different settings of a step would deadlock.
Status RunSetup::checkSameSetup() {
  const std::string own = fmt::format(
      "artifact {}, data {}, {} steps, seed {}, shuffle {}, options of samples "
      "[{}]",
      session->model().artifact.hash(), dataHash, total, options.seed,
      options.shuffle ? "on" : "off", textOf(options.samples));
  DLC_ASSIGN(std::vector<std::string> all, ranks.allGather(own));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      return incompatible("rank {} runs another job than rank 0: {}; "
                          "expected {}",
                          rank, all[rank], all[0]);
  return {};
}

Status RunSetup::settleSchedule(const Progress &progress) {
  DLC_TRY(settleStepsOfSchedule(progress));
  return setUnlessSet("schedule.epoch_steps", stepsPerEpoch).status();
}

Status RunSetup::settleStepsOfSchedule(const Progress &progress) {
  const char *state = "schedule.steps";
  const int64_t from = progress.scheduledFrom, own = total - from;
  if (options.reschedule && session->executor().hasState(state))
    return session->executor().writeState(state, &own, sizeof own);
  DLC_ASSIGN(const int64_t steps, setUnlessSet(state, own));
  if (steps != 0 && own > steps)
    warnOnce("the learning-rate schedule has {} steps: steps {} to {} keep its "
             "last rate; --reschedule stretches it over all steps",
             steps, std::max(from + steps, progress.step) + 1, total);
  return {};
}

// The state's value afterwards; 0 if the program lacks it.
Result<int64_t> RunSetup::setUnlessSet(const char *state, int64_t value) {
  int64_t old = 0;
  if (!session->executor().hasState(state))
    return old;
  DLC_TRY(session->executor().readState(state, &old, sizeof old));
  if (old != 0)
    return old;
  DLC_TRY(session->executor().writeState(state, &value, sizeof value));
  return value;
}

} // namespace dlc
