// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/Checkpoints.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Subprocess.h"
#include "runtime/train/run/RunFolder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/ranges.h>
#include <limits>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc {
namespace {

constexpr char kState[] = "state.safetensors";
constexpr std::string_view kRemoved = ".removed";

Json toJson(const Best &best, const std::string &by) {
  Json json = {{"by", by}, {"waited", best.waited}};
  if (best.step >= 0)
    json.update({{"value", best.value},
                 {"step", best.step},
                 {"reference", best.reference}});
  return json;
}

Json toJson(const Progress &progress) {
  Json json = {{"step", progress.step},
               {"epoch", progress.cursor.epoch},
               {"sample", progress.cursor.sample},
               {"data_hash", progress.dataHash},
               {"samples", progress.samples},
               {"world", progress.world}};
  if (progress.scheduledFrom > 0)
    json["scheduled_from"] = progress.scheduledFrom;
  if (!progress.cursor.taken.empty())
    json["taken"] = progress.cursor.taken;
  if (!progress.bestBy.empty())
    json["best"] = toJson(progress.best, progress.bestBy);
  return json;
}

// An integer small enough that arithmetic on it cannot overflow.
Result<int64_t> countOf(const Json &json, const char *key, uint64_t most) {
  DLC_ASSIGN(const uint64_t value, jsonUnsigned(json, key));
  if (value > most)
    return corrupt("'{}' is {}, expected at most {}", key, value, most);
  return int64_t(value);
}

constexpr uint64_t kMost = std::numeric_limits<int64_t>::max() / 2;

Result<double> numberOf(const Json &json, const char *key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number())
    return corrupt("expected a number '{}'", key);
  return found->get<double>();
}

Status readBest(const Json &json, Progress &progress) {
  DLC_ASSIGN(progress.bestBy, jsonString(json, "by"));
  DLC_ASSIGN(progress.best.waited, countOf(json, "waited", kMost));
  if (!json.contains("step"))
    return {};
  DLC_ASSIGN(progress.best.step, countOf(json, "step", kMost));
  DLC_ASSIGN(progress.best.value, numberOf(json, "value"));
  DLC_ASSIGN(progress.best.reference, numberOf(json, "reference"));
  return {};
}

// For several data sets: the cursor's position in each.
Status readTaken(const Json &json, Cursor &cursor) {
  const auto found = json.find("taken");
  if (found == json.end())
    return {};
  int64_t all = 0;
  for (const Json &taken : *found) {
    if (!taken.is_number_unsigned() || taken.get<uint64_t>() > kMost)
      return corrupt("expected whole numbers 'taken'");
    cursor.taken.push_back(taken.get<int64_t>());
    all += std::min<int64_t>(cursor.taken.back(), kMost / 1024);
  }
  if (!found->is_array() || all != cursor.sample)
    return corrupt("'taken' are {} samples, expected {}", all, cursor.sample);
  return {};
}

Result<Progress> progressFrom(const Json &json) {
  constexpr uint64_t kMostRanks = 1 << 16;
  Progress progress;
  DLC_ASSIGN(progress.step, countOf(json, "step", kMost));
  DLC_ASSIGN(progress.cursor.epoch, countOf(json, "epoch", kMost));
  DLC_ASSIGN(progress.cursor.sample, countOf(json, "sample", kMost));
  if (json.contains("scheduled_from")) {
    DLC_ASSIGN(progress.scheduledFrom, countOf(json, "scheduled_from", kMost));
  }
  DLC_TRY(readTaken(json, progress.cursor));
  DLC_ASSIGN(progress.samples, countOf(json, "samples", kMost));
  DLC_ASSIGN(const int64_t world, countOf(json, "world", kMostRanks));
  DLC_ASSIGN(progress.dataHash, jsonString(json, "data_hash"));
  progress.world = int(world);
  if (const auto best = json.find("best"); best != json.end())
    DLC_TRY(readBest(*best, progress).withContext("'best'"));
  if (progress.samples < 1 || world < 1 ||
      progress.cursor.sample > progress.samples)
    return corrupt("sample {} of {}, by {} ranks, is no position in data",
                   progress.cursor.sample, progress.samples, world);
  return progress;
}

// A value that changes when a file changes.
std::string fingerprint(const std::string &checkpoint) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(checkpoint, ignored)) {
    struct stat found {};
    if (::stat(entry.path().c_str(), &found) == 0)
      files.push_back(fmt::format(
          "{} {} {} {}.{}", entry.path().filename().string(), found.st_ino,
          found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec));
  }
  std::ranges::sort(files);
  return fmt::format("{}", fmt::join(files, ";"));
}

// Renames it to a name that is not a checkpoint's.
void setAside(const Checkpoint &checkpoint, const char *why,
              const std::string &reason) {
  std::string aside = checkpoint.path + why;
  for (int number = 2; exists(aside); ++number)
    aside = fmt::format("{}{}-{}", checkpoint.path, why, number);
  if (::rename(checkpoint.path.c_str(), aside.c_str()) == 0)
    warning("{}: set aside as '{}'", reason, aside);
  else
    warning("{}; it cannot be renamed: {}", reason, std::strerror(errno));
}

// Renames first, so that a kill leaves no incomplete checkpoint. False, with a
// warning, if it is still there.
bool removeCheckpoint(const std::string &path) {
  const std::string going = path + std::string(kRemoved);
  std::error_code error;
  fs::remove_all(going, error);
  fs::rename(path, going, error);
  if (!error)
    fs::remove_all(going, error);
  if (error)
    warning("'{}' cannot be removed: {}", path, error.message());
  return !error;
}

uint64_t spaceIn(const std::string &folder) {
  struct statvfs found {};
  return ::statvfs(folder.c_str(), &found) == 0
             ? uint64_t(found.f_bavail) * found.f_frsize
             : std::numeric_limits<uint64_t>::max();
}

uint64_t spaceOf(const Checkpoint &checkpoint) {
  uint64_t sum = 0;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(checkpoint.path, ignored)) {
    struct stat found {};
    if (::lstat(entry.path().c_str(), &found) == 0 && found.st_nlink == 1)
      sum += uint64_t(found.st_blocks) * 512;
  }
  return sum;
}

} // namespace

Result<Progress> readProgress(const std::string &checkpoint) {
  const std::string path = checkpoint + "/trainer.json";
  DLC_ASSIGN(std::string text, readFile(path, 1 << 20));
  const auto read = [&]() -> Result<Progress> {
    DLC_ASSIGN(const Json json, parseJson(text));
    return progressFrom(json);
  };
  return read().withContext("'{}'", path);
}

Result<Progress> progressOf(const Model &model) {
  return readProgress(model.checkpoint->path);
}

Result<std::string> checkpointOf(const std::string &run, int64_t step) {
  std::vector<int64_t> steps;
  for (const Checkpoint &checkpoint : listCheckpoints(run)) {
    if (checkpoint.step == step)
      return checkpoint.path;
    steps.push_back(checkpoint.step);
  }
  return failed(
      "run '{}' has no checkpoint of step {}: it has {}", run, step,
      steps.empty()
          ? "none"
          : fmt::format("{}", fmt::join(steps.rbegin(), steps.rend(), ", ")));
}

Status Checkpoints::save(Session &session, const Progress &progress,
                         int64_t keep) {
  if (!parts_)
    DLC_TRY(check(session));
  return save(
      {[&](const std::string &path) { return session.save(path, share_); },
       session.model().artifact.hash(), progress},
      keep);
}

Status Checkpoints::check(Session &session) const {
  return checkFinite(session.executor(), share_)
      .withContext("no checkpoint written");
}

Checkpoints::~Checkpoints() { end(true); }

Status Checkpoints::prepare(Session &session) {
  return copy_.reserve(session.executor());
}

Status Checkpoints::copy(Session &session) {
  return copy_.take(session.executor()).withContext("no checkpoint written");
}

void Checkpoints::begin(Session &session, const Progress &progress,
                        int64_t keep) {
  done_ = false;
  written_ = {progress.step, {}};
  Content content{[this](const std::string &path) { return copy_.save(path); },
                  session.model().artifact.hash(), progress};
  thread_ = std::thread([this, keep, content = std::move(content)] {
    if (!parts_) // low priority, but Gloo's threads spin for its locks
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 19);
    written_.status =
        guarded("writing a checkpoint", [&] { return save(content, keep); });
    done_ = true;
  });
}

std::optional<Checkpoints::Written> Checkpoints::end(bool wait) {
  if (!thread_.joinable() || (!wait && !done_))
    return std::nullopt;
  thread_.join();
  return written_;
}

Status Checkpoints::save(const Content &content, int64_t keep) {
  if (!parts_)
    return saveWhole(content, keep);
  if (parts_->share().rank > 0)
    return parts_->follow(content.saveState);
  const Status saved = saveWhole(content, keep);
  const Status ended = parts_->end();
  return saved.ok() ? ended : saved;
}

Status Checkpoints::saveWhole(const Content &content, int64_t keep) {
  const Progress &progress = content.progress;
  Status written = write(content);
  if (!written.ok() && makeRoom(content.artifact, progress, keep))
    written = write(content);
  if (!written.ok())
    return written;
  if (!progress.bestBy.empty())
    linkBest(run_, progress.best.step);
  prune(content.artifact, progress, keep);
  afterSave_.begin(fmt::format("{}/checkpoint-{}", run_, progress.step),
                   progress.step);
  return written;
}

Status Checkpoints::write(const Content &content) {
  const Progress &progress = content.progress;
  const std::string path = fmt::format("{}/checkpoint-{}", run_, progress.step);
  DLC_ASSIGN(AtomicDirectory folder, AtomicDirectory::create(path));
  DLC_ASSIGN(const Files state, writeState(content, folder.folder()));
  DLC_TRY(writeNewFile(folder.folder() + "/trainer.json",
                       dumpJson(toJson(progress), 2) + "\n"));
  Json fields = {{"format", kCheckpointFormat},
                 {"version", !share_.frozen.empty() ? kCheckpointVersion
                             : parts_               ? kPartsCheckpointVersion
                                                    : kWholeCheckpointVersion},
                 {"dlc", dlcVersion()},
                 {"artifact", content.artifact}};
  DLC_TRY(writeManifest(folder.folder(), std::move(fields), state).status());
  DLC_TRY(folder.commit());
  whole_[path] = fingerprint(path);
  return {};
}

// Writes and syncs the files of a checkpoint.
Result<Checkpoints::Files> Checkpoints::writeState(const Content &content,
                                                   const std::string &folder) {
  if (parts_)
    return parts_->write(folder, content.saveState);
  DLC_ASSIGN(const FileDigest state, content.saveState(folder + "/" + kState));
  return Files{{kState, state}};
}

// Verifies the hash unless it was verified since the last change.
bool Checkpoints::isWhole(const Checkpoint &checkpoint,
                          const std::string &artifact) {
  const std::string now = fingerprint(checkpoint.path);
  const auto known = whole_.find(checkpoint.path);
  if (known != whole_.end() && known->second == now)
    return true;
  if (!checkCheckpoint(checkpoint.path, artifact).ok())
    return false;
  whole_[checkpoint.path] = now;
  return true;
}

void Checkpoints::prune(const std::string &artifact, const Progress &progress,
                        int64_t keep) {
  const int64_t step = progress.step;
  int64_t kept = 1; // the one of this step
  for (const Checkpoint &checkpoint : listCheckpoints(run_)) {
    if (checkpoint.step == step || checkpoint.step == progress.best.step)
      continue;
    if (checkpoint.step > step)
      setAside(checkpoint, ".newer",
               fmt::format("'{}' is of a step that this run has not reached",
                           checkpoint.path));
    else if (kept >= keep && afterSave_.needs(checkpoint.step))
      continue;
    else if (kept >= keep) {
      if (!removeCheckpoint(checkpoint.path))
        return; // nor can older ones be, probably
    } else if (isWhole(checkpoint, artifact))
      ++kept;
    else
      setAside(checkpoint, ".damaged",
               fmt::format("'{}' is damaged", checkpoint.path));
  }
}

// Removes checkpoints if that frees enough space; true if it did.
bool Checkpoints::makeRoom(const std::string &artifact,
                           const Progress &progress, int64_t keep) {
  constexpr uint64_t kSlack = 16 << 10; // for longer numbers and folder blocks
  std::vector<std::string> superfluous;
  uint64_t needed = 0, space = spaceIn(run_);
  int64_t kept = 0;
  for (const Checkpoint &checkpoint : listCheckpoints(run_)) {
    if (checkpoint.step >= progress.step || !isWhole(checkpoint, artifact))
      continue;
    needed = std::max(needed, spaceOf(checkpoint) + kSlack);
    if (++kept <= std::max<int64_t>(1, keep - 1) ||
        checkpoint.step == progress.best.step ||
        afterSave_.needs(checkpoint.step))
      continue;
    superfluous.push_back(checkpoint.path);
    space += spaceOf(checkpoint);
  }
  if (space < needed || spaceIn(run_) >= needed)
    return false; // insufficient, or space is not the problem
  for (const std::string &path : superfluous)
    if (!removeCheckpoint(path))
      return false;
  return !superfluous.empty();
}

// Removes leftovers of a process that was killed while writing or removing.
void Checkpoints::removeUnfinished() const {
  removeStale(run_);
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(run_, ignored)) {
    const std::string path = entry.path().string();
    if (path.ends_with(kRemoved) &&
        stepOfCheckpoint(path.substr(0, path.size() - kRemoved.size())))
      fs::remove_all(path, ignored);
  }
}

Result<Progress> Checkpoints::loadNewest(Session &session) {
  removeUnfinished();
  DLC_ASSIGN(const NewestCheckpoint newest,
             findNewest(run_, session.model().artifact.hash()));
  if (!newest.checkpoint) {
    DLC_TRY(session.load(session.model().artifact.statePath()));
    return Progress();
  }
  const std::string &path = newest.checkpoint->path;
  DLC_ASSIGN(const Progress progress, loadFrom(session, path));
  for (const auto &[damaged, why] : newest.damaged)
    setAside(damaged, ".damaged",
             fmt::format("{}: going back to '{}'", why.message(), path));
  return progress;
}

Result<Progress> Checkpoints::load(Session &session, int64_t step) {
  removeUnfinished();
  DLC_ASSIGN(const std::string path, checkpointOf(run_, step));
  DLC_TRY(checkCheckpoint(path, session.model().artifact.hash()));
  return loadFrom(session, path);
}

// Loads a checkpoint that was verified.
Result<Progress> Checkpoints::loadFrom(Session &session,
                                       const std::string &path) {
  const std::string now = fingerprint(path);
  DLC_ASSIGN(Progress progress, readProgress(path));
  DLC_TRY(session.load(stateOf(path)));
  whole_[path] = now;
  return progress;
}

void Checkpoints::goBackTo(int64_t step) {
  for (const Checkpoint &checkpoint : listCheckpoints(run_))
    if (checkpoint.step > step)
      setAside(checkpoint, ".newer",
               fmt::format("going back to step {} from '{}'", step,
                           checkpoint.path));
}

std::string Checkpoints::newestText(const Session &session) {
  for (const Checkpoint &checkpoint : listCheckpoints(run_))
    if (isWhole(checkpoint, session.model().artifact.hash()))
      return fmt::format("'{}' is the newest intact one", checkpoint.path);
  return fmt::format("'{}' has none", run_);
}

AfterSave::~AfterSave() {
  if (thread_.joinable())
    thread_.join();
}

void AfterSave::begin(const std::string &checkpoint, int64_t step) {
  if (command_.empty())
    return;
  std::lock_guard lock(mutex_);
  if (running_) {
    if (waiting_)
      warning("--after-save is still running for '{}': '{}' is left out",
              running_->path, waiting_->path);
    waiting_ = {absolutePath(checkpoint), step};
    return;
  }
  if (thread_.joinable())
    thread_.join();
  running_ = {absolutePath(checkpoint), step};
  thread_ = std::thread([this, saved = *running_]() mutable {
    for (;;) {
      run(saved);
      std::lock_guard lock(mutex_);
      running_ = std::exchange(waiting_, std::nullopt);
      if (!running_)
        return;
      saved = *running_;
    }
  });
}

bool AfterSave::needs(int64_t step) const {
  std::lock_guard lock(mutex_);
  return (running_ && running_->step == step) ||
         (waiting_ && waiting_->step == step);
}

void AfterSave::run(const Saved &saved) const {
  const auto end = guarded("--after-save", [&] {
    return runProgram(
        {"/usr/bin/env", "DLC_CHECKPOINT=" + saved.path,
         fmt::format("DLC_STEP={}", saved.step), "/bin/sh", "-c", command_},
        [](std::string_view line) { info("--after-save: {}", line); });
  });
  if (!end)
    warning("--after-save for '{}': {}", saved.path, end.status().message());
  else if (end->code != 0)
    warning("--after-save for '{}' ended with code {}", saved.path, end->code);
}

} // namespace dlc
