// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/Checkpointing.h"

#include "runtime/base/process/Log.h"
#include "runtime/train/Agree.h"

#include <fmt/ranges.h>

namespace dlc {

Status Checkpointing::open() {
  if (folder_.isOwn())
    checkpoints_.emplace(folder_.path(), setup_.options.afterSave);
  if (!inParts())
    return {};
  DLC_ASSIGN(auto parts, Parts::create(folder_.path(), setup_.ranks));
  if (!checkpoints_)
    checkpoints_.emplace(folder_.path());
  checkpoints_->writeInParts(std::move(parts));
  return {};
}

// At the start of a run all ranks load the same artifact, so no state is
// broadcast.
Status Checkpointing::restore(Progress &progress) {
  DLC_TRY(onRoot(setup_.ranks, [&] { return load(progress); }));
  DLC_TRY(share(progress));
  DLC_TRY(progress.step > 0
              ? broadcastState(setup_.session->executor(), setup_.ranks)
              : onOthers(setup_.ranks, [&] { return loadFirst(progress); }));
  return agree(setup_.ranks, leaveOut(progress));
}

// Checkpoints omit states that equal the artifact's.
Status Checkpointing::leaveOut(const Progress &progress) {
  Session &session = *setup_.session;
  if (!checkpoints_)
    return {};
  const bool isFresh = progress.step == 0 && setup_.options.state.empty();
  DLC_ASSIGN(auto frozen,
             frozenStates(session.executor(),
                          session.model().artifact.statePath(), isFresh));
  checkpoints_->leaveOut(std::move(frozen));
  return {};
}

Status Checkpointing::load(Progress &progress) {
  Session &session = *setup_.session;
  const std::optional<int64_t> wanted = setup_.options.checkpoint;
  DLC_TRY(settle(true)); // a checkpoint may still be being written
  DLC_ASSIGN(progress, wanted ? checkpoints_->load(session, *wanted)
                              : checkpoints_->loadNewest(session));
  if (progress.step == 0 && !setup_.options.state.empty()) {
    DLC_TRY(takeOver(progress));
  } else {
    if (progress.step > 0)
      DLC_TRY(checkSameData(progress));
    tellOfOtherRanks(progress);
  }
  if (wanted)
    checkpoints_->goBackTo(progress.step);
  if (setup_.options.hierarchicalAllReduce && session.plan().target() != "cpu")
    warning("--hierarchical-all-reduce is for CPUs: between GPUs NCCL chooses "
            "its own algorithm");
  return setup_.settleSchedule(progress);
}

Status Checkpointing::loadFirst(const Progress &progress) {
  Session &session = *setup_.session;
  DLC_TRY(session.load(session.model().artifact.statePath()));
  return setup_.settleSchedule(progress);
}

// Takes over the state of another run, which has another artifact.
Status Checkpointing::takeOver(Progress &progress) {
  if (!setup_.from) { // the run ended before its first checkpoint
    DLC_ASSIGN(setup_.from,
               openModel(setup_.options.state, Artifact::Use::State));
  }
  const Model &from = *setup_.from;
  DLC_ASSIGN(progress, progressOf(from));
  DLC_ASSIGN(const Takeover taken,
             dlc::takeOver(setup_.session->executor(), from));
  progress.best = {};
  if (taken.startsOptimizer())
    progress.scheduledFrom = progress.step;
  tellOf(taken, progress);
  return goOnInData(progress);
}

// Continues at the same position if the data is the same, else at the first
// sample.
Status Checkpointing::goOnInData(Progress &progress) const {
  const bool same = isSameData(progress);
  if (same)
    return checkSameData(progress);
  warning("'{}' is not the data of '{}': the run begins with its first sample",
          nameOfData(setup_), setup_.options.state);
  progress.cursor = {};
  return {};
}

void Checkpointing::tellOf(const Takeover &taken,
                           const Progress &progress) const {
  const size_t kNamed = 16;
  info("goes on from step {} with {} states of '{}'", progress.step,
       taken.taken, setup_.options.state);
  if (taken.startsOptimizer())
    warning("optimizer {} instead of {}: its moments, steps and schedule start "
            "anew after step {}",
            taken.now, taken.before, progress.step);
  const auto tell = [kNamed](const char *what, std::vector<std::string> names) {
    const size_t more = names.size() - std::min(names.size(), kNamed);
    names.resize(names.size() - more);
    if (!names.empty())
      warning("{}: {}{}", what, fmt::join(names, ", "),
              more ? fmt::format(" and {} more", more) : "");
  };
  tell("states that the checkpoint lacks start as compiled", taken.missing);
  tell("states of another shape or type start as compiled", taken.unlike);
  tell("states of another float type are rounded", taken.rounded);
  tell("tensors of the checkpoint that the artifact does not have",
       taken.unused);
}

// Broadcasts rank 0's progress.
Status Checkpointing::share(Progress &progress) {
  Communicator &ranks = setup_.ranks;
  Cursor &cursor = progress.cursor;
  DLC_TRY(ranks.broadcast(&progress.step, sizeof progress.step, 0));
  DLC_TRY(ranks.broadcast(&cursor.epoch, sizeof cursor.epoch, 0));
  DLC_TRY(ranks.broadcast(&cursor.sample, sizeof cursor.sample, 0));
  cursor.taken.resize(setup_.data.sets.size() > 1 ? setup_.data.sets.size()
                                                  : 0);
  DLC_TRY(ranks.broadcast(cursor.taken.data(),
                          cursor.taken.size() * sizeof(int64_t), 0));
  DLC_TRY(settleBest(progress));
  setup_.beginAt(progress);
  return {};
}

// If the run is resumed with another --best, the best is reset.
Status Checkpointing::settleBest(Progress &progress) {
  const std::string by = setup_.bestBy ? setup_.bestBy->key : "";
  if (progress.bestBy != by) {
    progress.best = {};
    progress.bestBy = by;
  }
  Best &best = progress.best;
  DLC_TRY(setup_.ranks.broadcast(&best, sizeof best, 0));
  if (folder_.isOwn() && setup_.bestBy)
    linkToBest(best);
  return {};
}

void Checkpointing::linkToBest(const Best &best) const {
  const std::string &run = folder_.path();
  linkBest(run, best.step);
  if (best.step >= 0 &&
      !exists(fmt::format("{}/checkpoint-{}", run, best.step)))
    warning("the best checkpoint, of step {}, is missing: '{}/best' will be "
            "the next one better than {} {}",
            best.step, run, setup_.bestBy->key, best.value);
}

bool Checkpointing::isSameData(const Progress &progress) const {
  return progress.dataHash == setup_.dataHash &&
         progress.samples == setup_.data.samples();
}

Status Checkpointing::checkSameData(const Progress &progress) const {
  const SizedData &data = setup_.data;
  const bool same = isSameData(progress);
  if (!same)
    return failed("'{}' is not the data that the run began with ({} samples, "
                  "hash {}; found {} samples, hash {})",
                  nameOfData(setup_), progress.samples, progress.dataHash,
                  data.samples(), setup_.dataHash);
  const std::vector<int64_t> &taken = progress.cursor.taken;
  const std::vector<int64_t> counts = countsOf(data.sets);
  bool isPlace = taken.size() == (counts.size() > 1 ? counts.size() : 0);
  for (size_t i = 0; isPlace && i < taken.size(); ++i)
    isPlace = taken[i] <= counts[i];
  if (!isPlace)
    return corrupt("the checkpoint of step {} is at samples [{}] of each "
                   "length, but there are [{}]",
                   progress.step, fmt::join(taken, ", "),
                   fmt::join(counts, ", "));
  return {};
}

void Checkpointing::tellOfOtherRanks(const Progress &progress) const {
  const plan::Plan &plan = setup_.session->plan();
  const Sampling &sampling = setup_.sampling;
  const int before =
      progress.step > 0 ? progress.world : int(plan.world_size());
  if (before == sampling.world)
    return;
  Sampling old = sampling;
  old.world = before;
  // Before the first checkpoint the number of ranks is unknown.
  warning("{} instead of {}{} {} on from step {}: {} samples a step instead of "
          "{}; steps and learning rates stay as they were",
          ranksText(sampling), before,
          progress.step > 0 ? "" : ", which the model was compiled for,",
          sampling.world == 1 ? "goes" : "go", progress.step,
          sampling.samplesOfUpdate(), old.samplesOfUpdate());
}

void Checkpointing::prepare(const Progress &progress) {
  const TrainOptions &options = setup_.options;
  int64_t every = setup_.stepsPerEpoch;
  if (options.saveEvery > 0 || options.saveSeconds > 0)
    every = options.saveEvery;
  const int64_t left = setup_.total - progress.step;
  if (!checkpoints_ || !inBackground() || left <= std::max<int64_t>(1, every))
    return;
  const Status room = checkpoints_->prepare(*setup_.session);
  if (!room.ok() && !inParts()) // else copyForParts() reports it
    waitForSaves(room);
}

void Checkpointing::waitForSaves(const Status &noRoom) {
  warning("{}: steps wait for checkpoints (--save=sync)", noRoom.message());
  hasRoom_ = false;
}

Status Checkpointing::save(const Progress &progress, How how) {
  Executor &executor = setup_.session->executor();
  Status saved;
  if (inParts()) {
    saved = saveParts(progress, how);
  } else {
    DLC_TRY(executor.gatherState(setup_.ranks));
    saved = onRoot(setup_.ranks, [&] { return saveWhole(progress, how); });
    executor.dropGathered();
  }
  saved_ = Clock::now();
  return saved;
}

Status Checkpointing::settleBefore(int64_t step) {
  DLC_TRY(settle(true));
  return folder_.check().withContext("no checkpoint of step {}", step);
}

// An error on one rank ends the save, or the run, on all.
Status Checkpointing::saveParts(const Progress &progress, How how) {
  const int64_t keep = setup_.options.keep;
  if (!folder_.isOwn())
    checkpoints_->end(true); // rank 0 knows the result
  DLC_TRY(onRoot(setup_.ranks, [&] { return settleBefore(progress.step); }));
  bool copied = false;
  if (how == How::Planned && inBackground()) {
    DLC_ASSIGN(copied, copyForParts());
  }
  if (copied) {
    checkpoints_->begin(*setup_.session, progress, keep);
    return {};
  }
  DLC_TRY(agree(setup_.ranks, checkpoints_->check(*setup_.session)));
  const Status saved = checkpoints_->save(*setup_.session, progress, keep);
  return onRoot(setup_.ranks,
                [&] { return settle(progress.step, saved, how == How::Last); });
}

// False, also in later calls, if a rank lacks memory for it.
Result<bool> Checkpointing::copyForParts() {
  const Status copied = checkpoints_->copy(*setup_.session);
  int64_t tight = copied.code() == Code::Limit;
  DLC_TRY(setup_.ranks.allReduce(&tight, 1, DType::I64, ReduceOp::Max));
  if (tight == 0) {
    DLC_TRY(agree(setup_.ranks, copied));
    return true;
  }
  hasRoom_ = false;
  if (copied.code() == Code::Limit)
    waitForSaves(copied);
  return false;
}

Status Checkpointing::saveWhole(const Progress &progress, How how) {
  Session &session = *setup_.session;
  const int64_t keep = setup_.options.keep;
  DLC_TRY(settleBefore(progress.step));
  if (how == How::Planned && inBackground()) {
    const Status copied = checkpoints_->copy(session);
    if (copied.ok())
      checkpoints_->begin(session, progress, keep);
    if (copied.code() != Code::Limit)
      return copied;
    waitForSaves(copied);
  }
  return settle(progress.step, checkpoints_->save(session, progress, keep),
                how == How::Last);
}

Status Checkpointing::settle(bool wait) {
  const auto written = checkpoints_->end(wait);
  return written ? settle(written->step, written->status, false) : Status();
}

Status Checkpointing::settle(int64_t step, const Status &saved, bool last) {
  if (saved.ok())
    savedStep_ = step;
  if (saved.code() != Code::Failed)
    return saved;
  const std::string what =
      fmt::format("no checkpoint of step {}: {}; {}", step, saved.message(),
                  checkpoints_->newestText(*setup_.session));
  if (last)
    return failed("{}: go on with it by --resume={} when it can be written",
                  what, folder_.path());
  warning("{}; training continues, and the next checkpoint is written when it "
          "is due",
          what);
  return {};
}

Result<bool> Checkpointing::poll() {
  if (!folder_.isOwn() || Clock::now() - checked_ < std::chrono::seconds(1))
    return false;
  checked_ = Clock::now();
  DLC_TRY(folder_.check());
  DLC_TRY(settle(false));
  return true;
}

bool Checkpointing::isTimeUp() const {
  const double wanted = setup_.options.saveSeconds;
  const std::chrono::duration<double> since = Clock::now() - saved_;
  return folder_.isOwn() && wanted > 0 && since.count() >= wanted;
}

} // namespace dlc
