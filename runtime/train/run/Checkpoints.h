// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a run: written, kept and gone back to.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/plan/Model.h"
#include "runtime/train/run/AfterSave.h"
#include "runtime/train/run/Best.h"
#include "runtime/train/run/Parts.h"
#include "runtime/train/session/Session.h"
#include "runtime/train/session/State.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace dlc {

// Where a run stands. Seed and cursor say which samples come next.
struct Progress {
  int64_t step = 0;
  Cursor cursor;
  std::string dataHash; // of the training data
  int64_t samples = 0;
  int world = 0; // ranks that did the last step; 0: none was done
  int64_t scheduledFrom =
      0;              // step at which an optimizer and its schedule began
  std::string bestBy; // the value that `best` is of; empty: none is looked at
  Best best;
};

Result<Progress> readProgress(const std::string &checkpoint);
// The same of a model that is a checkpoint, of any version.
Result<Progress> progressOf(const Model &model);

// The path of a run's checkpoint of this step; Code::Failed names those that
// there are.
Result<std::string> checkpointOf(const std::string &run, int64_t step);

// Of a run that this process has locked (RunLock.h); one thread. In parts also
// on ranks that have not: these write theirs, and do nothing else.
class Checkpoints {
public:
  explicit Checkpoints(std::string run, std::string afterSave = {})
      : run_(std::move(run)), afterSave_(std::move(afterSave)) {}
  ~Checkpoints(); // what was begun is written

  // From now on all ranks make checkpoints together.
  void writeInParts(std::unique_ptr<Parts> parts) {
    share_ = parts->share();
    parts_ = std::move(parts);
  }
  // From now on checkpoints leave these states to the artifact.
  void leaveOut(std::set<std::string> frozen) {
    share_.frozen = std::move(frozen);
    copy_.shareWith(share_);
  }

  // Writes <run>/checkpoint-<step> atomically; afterwards only the `keep`
  // newest intact checkpoints remain, this one first. Others of earlier steps
  // are removed, or renamed checkpoint-<step>.damaged; those of later steps do
  // not belong to this run's history and would take precedence over its next
  // ones: they are renamed checkpoint-<step>.newer. What AfterSave needs is
  // kept, too. On a full disk the
  // checkpoints that `keep` will remove are removed first if that makes enough
  // room, but never the newest intact one. The best one is kept in any case;
  // RUN/best links to it. Code::Diverged, and nothing written, if a parameter
  // is not finite: with a file per rank check() reports that before.
  Status save(Session &session, const Progress &progress, int64_t keep);
  Status check(Session &session) const;

  // Makes room for begin(). Code::Limit if there is none.
  Status prepare(Session &session);
  // Copies the state. Code::Limit without room for it, Code::Diverged as
  // save().
  Status copy(Session &session);
  // As save(), for the copy, on a thread of low priority. Only end() may be
  // called until it has returned the result.
  void begin(Session &session, const Progress &progress, int64_t keep);
  struct Written {
    int64_t step;
    Status status;
  };
  // Once for each begin(): the result when it is done, waiting for it if
  // `wait`.
  std::optional<Written> end(bool wait);

  // Loads the newest intact checkpoint; damaged newer ones are renamed, with a
  // warning. Step 0, with the artifact's state, if there is none. Code::Corrupt
  // if there are some and all are damaged.
  Result<Progress> loadNewest(Session &session);

  // Loads the one of `step`: Code::Failed if there is none, naming those that
  // there are, Code::Corrupt if it is damaged.
  Result<Progress> load(Session &session, int64_t step);

  // Sets those of later steps aside as checkpoint-<step>.newer, with a warning
  // each: what is loaded next is of `step`.
  void goBackTo(int64_t step);

  // "'run/checkpoint-30' is the newest", "there is none", for messages.
  std::string newestText(const Session &session);

private:
  // What is written: the state, or this rank's part, by its path, and of which
  // artifact it is.
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
  std::map<std::string, std::string> whole_; // path: what its files were then
  std::unique_ptr<Parts> parts_;             // or rank 0 writes all
  Share share_;                              // what this rank writes
  StateCopy copy_;
  Written written_{};
  std::atomic<bool> done_ = false;
  std::thread thread_; // of begin(), until end()
};

} // namespace dlc
