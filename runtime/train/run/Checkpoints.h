// SPDX-License-Identifier: Apache-2.0
// Writes, retains and restores the checkpoints of a run.
#pragma once

#include "runtime/plan/Model.h"
#include "runtime/train/run/Best.h"
#include "runtime/train/run/Parts.h"
#include "runtime/train/session/Session.h"
#include "runtime/train/session/State.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace dlc {

// Runs the command of --after-save with /bin/sh on a separate thread, one at a
// time, with DLC_CHECKPOINT and DLC_STEP in its environment. Of the checkpoints
// written meanwhile only the newest waits for it; skipped ones, and failures of
// the command, are warnings. Lines of its standard error become messages.
class AfterSave {
public:
  // Does nothing if the command is empty.
  explicit AfterSave(std::string command) : command_(std::move(command)) {}
  ~AfterSave(); // waits for a running command

  void begin(const std::string &checkpoint, int64_t step);
  // Whether the checkpoint of this step must not be removed. Thread-safe.
  bool needs(int64_t step) const;

private:
  struct Saved {
    std::string path;
    int64_t step = 0;
  };
  void run(const Saved &saved) const;

  const std::string command_;
  mutable std::mutex mutex_; // of both
  std::optional<Saved> running_, waiting_;
  std::thread thread_;
};

// Progress of a run. Seed and cursor determine the next samples.
struct Progress {
  int64_t step = 0;
  Cursor cursor;
  std::string dataHash; // of the training data
  int64_t samples = 0;
  int world = 0; // ranks of the last step; 0: no step was done
  int64_t scheduledFrom =
      0;              // step at which the optimizer and its schedule began
  std::string bestBy; // name of `best`; empty: none is tracked
  Best best;
};

Result<Progress> readProgress(const std::string &checkpoint);
// Progress stored in a model that is a checkpoint, of any version.
Result<Progress> progressOf(const Model &model);

// Path of a run's checkpoint of this step; Code::Failed, with the existing
// ones, if there is none.
Result<std::string> checkpointOf(const std::string &run, int64_t step);

// For a run that this process has locked (RunLock). Not thread-safe. With
// parts, also on ranks without the lock, which only write their parts.
class Checkpoints {
public:
  explicit Checkpoints(std::string run, std::string afterSave = {})
      : run_(std::move(run)), afterSave_(std::move(afterSave)) {}
  ~Checkpoints(); // completes a background write

  // From now on ranks write checkpoints together.
  void writeInParts(std::unique_ptr<Parts> parts) {
    share_ = parts->share();
    parts_ = std::move(parts);
  }
  // From now on checkpoints omit these states, which the artifact has.
  void leaveOut(std::set<std::string> frozen) {
    share_.frozen = std::move(frozen);
    copy_.shareWith(share_);
  }

  // Writes <run>/checkpoint-<step> atomically; afterwards only the `keep`
  // newest intact checkpoints, this one included, the best one, to which
  // RUN/best links, and those that AfterSave needs remain. Older ones are
  // removed, or renamed checkpoint-<step>.damaged. Those of later steps are not
  // part of this run's history and would take precedence over its next ones:
  // they are renamed checkpoint-<step>.newer. On a full disk, checkpoints that
  // `keep` would remove are removed first if that frees enough space, but never
  // the newest intact one. Code::Diverged, without writing, if a parameter is
  // not finite; with a file per rank check() reports that before.
  Status save(Session &session, const Progress &progress, int64_t keep);
  Status check(Session &session) const;

  // Allocates memory for begin(). Code::Limit if there is not enough.
  Status prepare(Session &session);
  // Copies the state. Code::Limit if there is not enough memory, Code::Diverged
  // as in save().
  Status copy(Session &session);
  // Like save(), for the copy, on a low-priority thread. Until end() has
  // returned the result, no other function may be called.
  void begin(Session &session, const Progress &progress, int64_t keep);
  struct Written {
    int64_t step;
    Status status;
  };
  // Once for each begin(): the result if it is done; blocks if `wait`.
  std::optional<Written> end(bool wait);

  // Loads the newest intact checkpoint; newer damaged ones are renamed, with a
  // warning. Without checkpoints: step 0, with the artifact's state.
  // Code::Corrupt if all checkpoints are damaged.
  Result<Progress> loadNewest(Session &session);

  // Loads the checkpoint of `step`. Code::Failed, with the existing ones, if
  // there is none; Code::Corrupt if it is damaged.
  Result<Progress> load(Session &session, int64_t step);

  // Renames checkpoints of later steps to checkpoint-<step>.newer, with a
  // warning each, so that the newest is that of `step`.
  void goBackTo(int64_t step);

  // "'run/checkpoint-30' is the newest", "there is none", for messages.
  std::string newestText(const Session &session);

private:
  // Content of a checkpoint: the state, or this rank's part, by path, and the
  // artifact it belongs to.
  struct Content {
    Parts::Writer saveState;
    std::string artifact;
    Progress progress;
  };
  Status save(const Content &content, int64_t keep);
  Status saveWhole(const Content &content, int64_t keep);
  Status write(const Content &content);
  using Files = std::map<std::string, FileDigest>;
  Result<Files> writeState(const Content &content, const std::string &folder);
  Result<Progress> loadFrom(Session &session, const std::string &path);
  void prune(const std::string &artifact, const Progress &progress,
             int64_t keep);
  bool makeRoom(const std::string &artifact, const Progress &progress,
                int64_t keep);
  bool isWhole(const Checkpoint &checkpoint, const std::string &artifact);
  void removeUnfinished() const;

  const std::string run_;
  AfterSave afterSave_;
  std::map<std::string, std::string> whole_; // path: file states when intact
  std::unique_ptr<Parts> parts_;             // null: rank 0 writes everything
  Share share_;                              // written by this rank
  StateCopy copy_;
  Written written_{};
  std::atomic<bool> done_ = false;
  std::thread thread_; // from begin() to end()
};

} // namespace dlc
