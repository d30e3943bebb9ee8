// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Job.h"

#include "runtime/base/options/Environment.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/lengths/Joined.h"
#include "runtime/device/TuneChoices.h"
#include "runtime/plan/Averages.h"
#include "runtime/train/Agree.h"
#include "runtime/train/Samples.h"
#include "runtime/train/session/Buffers.h"
#include "runtime/train/session/Inputs.h"
#include "runtime/train/session/State.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace dlc {
namespace {

constexpr std::chrono::hours kMeasuring(1); // others wait so long for rank 0

std::string absolutePath(const std::string &path) {
  std::error_code error;
  auto result = std::filesystem::absolute(path, error);
  return path.empty() || error ? path : result.lexically_normal().string();
}

std::string artifactPath(const TrainOptions &options) {
  return options.resume.empty() ? options.artifact
                                : options.resume + "/model.dlc";
}

// Of each path of a list; standard input has none.
std::string absolutePaths(const std::string &list) {
  if (list == kStandardInput)
    return list;
  std::string result;
  for (const std::string &path : pathsIn(list))
    result += (result.empty() ? "" : ",") + absolutePath(path);
  return result;
}

} // namespace

std::string batchText(const Sampling &sampling) {
  return sampling.window == 1 ? fmt::format("{}", sampling.batch)
                              : fmt::format("{} micro-batches of {}",
                                            sampling.window, sampling.batch);
}

std::string ranksText(const Sampling &sampling) {
  return sampling.world == 1 ? "1 rank"
                             : fmt::format("{} ranks", sampling.world);
}

Result<std::unique_ptr<Job>> Job::make(const TrainOptions &given,
                                       const TrainHooks &hooks,
                                       Communicator &communicator) {
  TrainOptions options = given;
  options.artifact = absolutePath(options.artifact);
  options.data = absolutePaths(options.data);
  options.val = absolutePaths(options.val);
  options.samples.tokenizer = absolutePath(options.samples.tokenizer);
  if (hooks.data)
    options.data = hooks.data->name();
  if (hooks.val)
    options.val = hooks.val->name();
  OptionTable table;
  options.addTo(table);
  DLC_TRY(table.validate());
  std::unique_ptr<Job> job(new Job(options, hooks, communicator));
  job->infiniteSteps = environment::infiniteSteps();
  return job;
}

Status Job::prepareSteps() {
  DLC_TRY(agree(communicator, loadData()));
  DLC_TRY(bindStep());
  DLC_TRY(agree(communicator, settleLength()));
  return agree(communicator, checkSameJob());
}

Result<std::unique_ptr<Job>> Job::openApart(const TrainOptions &options,
                                            Communicator &communicator) {
  constexpr int64_t kLong = 1000; // times the steps: the schedule hardly begins
  DLC_ASSIGN(auto job, make(options, {}, communicator));
  DLC_TRY(job->prepareSteps());
  const int64_t steps = job->total;
  job->options.reschedule = true;
  job->total = kLong * steps;
  const auto load = [&]() -> Status {
    DLC_TRY(job->session->load(job->session->model().artifact.statePath()));
    return job->settleSchedule();
  };
  DLC_TRY(agree(communicator, load()));
  job->total = steps;
  DLC_TRY(job->sharePlace());
  return job;
}

Result<std::unique_ptr<Job>> Job::open(const TrainOptions &given,
                                       const TrainHooks &hooks,
                                       Communicator &communicator) {
  DLC_ASSIGN(auto job, make(given, hooks, communicator));
  DLC_TRY(agree(communicator, job->lockRun()));
  DLC_TRY(job->prepareSteps());
  DLC_TRY(agree(communicator, job->openRun()));
  DLC_TRY(job->shareFolder());
  DLC_TRY(job->openParts());
  DLC_TRY(job->restore());
  if (job->checkpoints)
    job->prepareSaves();
  job->writeTuning();
  return job;
}

// At the start of a run all ranks have the same artifact (checkSameJob), so no
// state need travel.
Status Job::restore() {
  DLC_TRY(agree(communicator, restoreRoot()));
  DLC_TRY(sharePlace());
  if (progress.step > 0)
    return broadcastState(session->executor(), communicator);
  return agree(
      communicator, isRoot() ? Status() : [&]() -> Status {
        DLC_TRY(session->load(session->model().artifact.statePath()));
        return settleSchedule();
      }());
}

Status Job::settleBuffers() {
  return dlc::settleBuffers(
      session->executor(), communicator,
      options.bnBuffers == "mean" ? BufferMode::Mean : BufferMode::Broadcast);
}

bool Job::injects(int64_t step) const {
  return isRoot() && infiniteSteps.count(step) > 0;
}

bool Job::reports(std::string_view metric) const {
  const auto &names = session->metricNames();
  return std::find(names.begin(), names.end(), metric) != names.end();
}

double Job::metric(std::span<const double> values,
                   std::string_view name) const {
  const auto &names = session->metricNames();
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name)
      return values[i];
  return NAN;
}

Result<Job::Window> Job::windowOf(int64_t step) const {
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

// A run that went on by another value begins to look for its best anew.
Status Job::settleBest() {
  const std::string by = bestBy ? bestBy->key : "";
  if (progress.bestBy != by) {
    progress.best = {};
    progress.bestBy = by;
  }
  Best &best = progress.best;
  DLC_TRY(communicator.broadcast(&best, sizeof best, 0));
  if (!isRoot() || !bestBy)
    return {};
  linkBest(run, best.step);
  if (best.step >= 0 &&
      !exists(fmt::format("{}/checkpoint-{}", run, best.step)))
    warning("the best checkpoint, of step {}, is missing: '{}/best' will be "
            "the next one better than {} {}",
            best.step, run, bestBy->key, best.value);
  return {};
}

// Rank 0 chooses the algorithms of a GPU's libraries; the others do as it did,
// wherever their caches are. A CPU has nothing to choose.
Status Job::bindStep() {
  const auto bind = [this]() -> Status {
    if (options.debugOverflow && session->executor().hasParts())
      return usageError("--debug-overflow keeps a copy of all state, which "
                        "--zero splits over ranks: compile with --zero=0");
    for (const plan::Program &program : session->plan().programs())
      if (const auto kind = plan::kindOf(program);
          (kind == "train_step" || kind == "accumulate_step") &&
          std::find(data.sizes.begin(), data.sizes.end(),
                    static_cast<int>(program.size())) != data.sizes.end())
        DLC_TRY(session->executor().prepare(program.name()));
    return {};
  };
  if (communicator.size() == 1 || session->executor().isOnHost())
    return agree(communicator, bind());
  DLC_ASSIGN(const auto patient, communicator.sibling(kMeasuring));
  DLC_TRY(agree(*patient, isRoot() ? bind() : Status()));
  std::string choices = isRoot() ? options.tune.choices->toText() : "";
  uint64_t bytes = choices.size();
  DLC_TRY(patient->broadcast(&bytes, sizeof bytes, 0));
  choices.resize(bytes);
  DLC_TRY(patient->broadcast(choices.data(), bytes, 0));
  return agree(
      communicator, isRoot() ? Status() : [&]() -> Status {
        DLC_TRY(options.tune.choices->adopt(choices));
        return bind();
      }());
}

// Ranks that differ in what decides a step would wait for each other in vain.
Status Job::checkSameJob() {
  const std::string own = fmt::format(
      "artifact {}, data {}, {} steps, seed {}, shuffle {}, options of samples "
      "[{}]",
      session->model().artifact.hash(), dataHash, total, options.seed,
      options.shuffle ? "on" : "off", textOf(options.samples));
  DLC_ASSIGN(std::vector<std::string> all, communicator.allGather(own));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      return incompatible("rank {} runs another job than rank 0: {}; "
                          "expected {}",
                          rank, all[rank], all[0]);
  return {};
}

// Before anything of it is read that another process could change.
Status Job::lockRun() {
  run = options.resume;
  if (!isRoot() || run.empty())
    return {};
  DLC_ASSIGN(RunLock taken, RunLock::take(run));
  lock.emplace(std::move(taken));
  checkpoints.emplace(run);
  return {};
}

Status Job::openRun() {
  if (!isRoot() || !run.empty())
    return {};
  DLC_ASSIGN(NewRun made, createRun(options));
  run = made.path;
  lock.emplace(std::move(made.lock));
  checkpoints.emplace(run);
  return {};
}

void Job::writeTuning() const {
  if (!isRoot() || options.tune.choices->isEmpty())
    return;
  const Status written =
      writeFileAtomically(run + "/tuning.json",
                          dumpJson(options.tune.choices->describe(), 1) + "\n");
  if (!written.ok())
    warning("{}", written.message());
}

// Each rank may leave something there, if it reaches it.
Status Job::shareFolder() {
  if (communicator.size() == 1)
    return {};
  const std::string own = isRoot() ? absolutePath(run) : "";
  DLC_ASSIGN(const auto all, communicator.allGather(own));
  if (!isRoot())
    run = all[0];
  return {};
}

// Before a run has begun its first step, which would be in vain.
Status Job::openParts() {
  if (!inParts())
    return {};
  DLC_ASSIGN(auto parts, Parts::create(run, communicator));
  if (!checkpoints)
    checkpoints.emplace(run);
  checkpoints->writeInParts(std::move(parts));
  return {};
}

Status Job::save(bool last, bool now) {
  if (inParts())
    return saveParts(last, now);
  DLC_TRY(session->executor().gatherState(communicator));
  const Status saved =
      agree(communicator, isRoot() ? saveRoot(last, now) : Status());
  session->executor().dropGathered();
  return saved;
}

// Room for copies, if a checkpoint is due before the end.
void Job::prepareSaves() {
  int64_t every = std::max<int64_t>(1, stepsPerEpoch);
  if (options.saveEvery > 0 || options.saveSeconds > 0)
    every = std::max<int64_t>(1, options.saveEvery);
  if (!inBackground() || total - progress.step <= every)
    return;
  const Status room = checkpoints->prepare(*session);
  if (!room.ok() && !inParts()) // else copyForParts() says it on all ranks
    waitForSaves(room);
}

void Job::waitForSaves(const Status &noRoom) {
  warning("{}: steps wait for checkpoints (--save=sync)", noRoom.message());
  hasRoom_ = false;
}

Status Job::settleRoot() {
  DLC_TRY(settleSave(true)); // the one before
  return lock->check().withContext(
      fmt::format("no checkpoint of step {}", progress.step));
}

// What went wrong on one rank ends the save, or the run, on all.
Status Job::saveParts(bool last, bool now) {
  if (!isRoot())
    checkpoints->end(true); // rank 0 knows how it went
  DLC_TRY(agree(communicator, isRoot() ? settleRoot() : Status()));
  bool copied = false;
  if (!last && !now && inBackground()) {
    DLC_ASSIGN(copied, copyForParts());
  }
  if (copied) {
    checkpoints->begin(*session, progress, options.keep);
    return {};
  }
  DLC_TRY(agree(communicator, checkpoints->check(*session)));
  const Status saved = checkpoints->save(*session, progress, options.keep);
  return agree(communicator,
               isRoot() ? settleSave(progress.step, saved, last) : Status());
}

// False, from now on, if one rank has no room for it.
Result<bool> Job::copyForParts() {
  const Status copied = checkpoints->copy(*session);
  int64_t tight = copied.code() == Code::Limit;
  DLC_TRY(communicator.allReduce(&tight, 1, DType::I64, ReduceOp::Max));
  if (tight == 0) {
    DLC_TRY(agree(communicator, copied));
    return true;
  }
  hasRoom_ = false;
  if (copied.code() == Code::Limit)
    waitForSaves(copied);
  return false;
}

Status Job::saveRoot(bool last, bool now) {
  DLC_TRY(settleRoot());
  if (!last && !now && inBackground()) {
    const Status copied = checkpoints->copy(*session);
    if (copied.ok())
      checkpoints->begin(*session, progress, options.keep);
    if (copied.code() != Code::Limit)
      return copied;
    waitForSaves(copied);
  }
  return settleSave(progress.step,
                    checkpoints->save(*session, progress, options.keep), last);
}

Status Job::settleSave(bool wait) {
  const auto written = checkpoints->end(wait);
  return written ? settleSave(written->step, written->status, false) : Status();
}

Status Job::settleSave(int64_t step, const Status &saved, bool last) {
  if (saved.ok())
    savedStep = step;
  if (saved.code() != Code::Failed)
    return saved;
  const std::string what =
      fmt::format("no checkpoint of step {}: {}; {}", step, saved.message(),
                  checkpoints->newestText(*session));
  if (last)
    return failed("{}: go on with it by --resume={} when it can be written",
                  what, run);
  warning("{}; training continues, and the next checkpoint is written when it "
          "is due",
          what);
  return {};
}

// Rank 0 loads; the others get its place and its state.
Status Job::restoreRoot() {
  if (isRoot()) {
    DLC_TRY(settleSave(true)); // the newest may still be being written
    DLC_ASSIGN(progress, options.checkpoint
                             ? checkpoints->load(*session, *options.checkpoint)
                             : checkpoints->loadNewest(*session));
    if (progress.step > 0)
      DLC_TRY(checkSameData());
    if (options.checkpoint)
      checkpoints->goBackTo(progress.step);
    tellOfOtherRanks();
    tellOfReductions();
    DLC_TRY(settleSchedule());
  }
  return {};
}

// Where rank 0 is, on all ranks, who go on from there.
Status Job::sharePlace() {
  DLC_TRY(communicator.broadcast(&progress.step, sizeof progress.step, 0));
  Cursor &cursor = progress.cursor;
  DLC_TRY(communicator.broadcast(&cursor.epoch, sizeof cursor.epoch, 0));
  DLC_TRY(communicator.broadcast(&cursor.sample, sizeof cursor.sample, 0));
  cursor.taken.resize(data.sets.size() > 1 ? data.sets.size() : 0);
  DLC_TRY(communicator.broadcast(cursor.taken.data(),
                                 cursor.taken.size() * sizeof(int64_t), 0));
  DLC_TRY(settleBest());
  progress.dataHash = dataHash;
  progress.samples = data.samples();
  progress.world = communicator.size();
  sampling.since = progress.step;
  sampling.from = progress.cursor;
  return {};
}

void Job::tellOfOtherRanks() const {
  const int before = progress.step > 0
                         ? progress.world
                         : static_cast<int>(session->plan().world_size());
  if (before == communicator.size())
    return;
  Sampling old = sampling;
  old.world = before;
  // Before the first checkpoint nothing tells what ranks there were.
  warning("{} instead of {}{} {} on from step {}: {} samples a step instead of "
          "{}; steps and learning rates stay as they were",
          ranksText(sampling), before,
          progress.step > 0 ? "" : ", which the model was compiled for,",
          sampling.world == 1 ? "goes" : "go", progress.step,
          sampling.samplesOfUpdate(), old.samplesOfUpdate());
}

void Job::tellOfReductions() const {
  const plan::Plan &plan = session->plan();
  if (options.hierarchicalAllReduce && plan.target() != "cpu")
    warning("--hierarchical-all-reduce is for CPUs: between GPUs NCCL chooses "
            "its own algorithm");
}

// A schedule that was compiled without a length lasts as long as the run that
// was begun.
Status Job::settleSchedule() {
  DLC_TRY(settleStepsOfSchedule());
  return setUnlessSet("schedule.epoch_steps", stepsPerEpoch).status();
}

Status Job::settleStepsOfSchedule() {
  const char *state = "schedule.steps";
  if (options.reschedule && session->executor().hasState(state))
    return session->executor().writeState(state, &total, sizeof total);
  DLC_ASSIGN(const int64_t steps, setUnlessSet(state, total));
  if (isRoot() && steps != 0 && total > steps)
    warning("the learning-rate schedule has {} steps: steps {} to {} keep its "
            "last rate; --reschedule stretches it over all steps",
            steps, std::max(steps, progress.step) + 1, total);
  return {};
}

// What the state is then; 0 without it.
Result<int64_t> Job::setUnlessSet(const char *state, int64_t value) {
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
