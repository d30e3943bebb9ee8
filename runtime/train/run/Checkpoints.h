// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a run: written, kept and gone back to.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/plan/Model.h"
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
  int world = 0;      // ranks that did the last step; 0: none was done
  std::string bestBy; // the value that `best` is of; empty: none is looked at
  Best best;
};

Result<Progress> readProgress(const std::string &checkpoint);

// The path of a run's checkpoint of this step; Code::Failed names those that
// there are.
Result<std::string> checkpointOf(const std::string &run, int64_t step);

// Of a run that this process has locked (RunLock.h); one thread. In parts also
// on ranks that have not: these write theirs, and do nothing else.
class Checkpoints {
public:
  explicit Checkpoints(std::string run) : run_(std::move(run)) {}
  ~Checkpoints(); // what was begun is written

  // From now on all ranks make checkpoints together.
  void writeInParts(std::unique_ptr<Parts> parts) {
    copy_.shareWith(parts->share());
    parts_ = std::move(parts);
  }

  // Writes <run>/checkpoint-<step> in one step; then only the `keep` newest
  // that are whole stay, this one first. Others of earlier steps are removed,
  // or set aside as checkpoint-<step>.damaged; those of later steps are none of
  // this run's past and would win over what it does from here on: they become
  // checkpoint-<step>.newer. On a full disk those that `keep` will not keep are
  // removed before, if there is then room, but never the newest that is whole.
  // The best one stays besides, whatever `keep` is; RUN/best links to it.
  // Code::Diverged, and nothing written, if a parameter is not finite: in parts
  // that is check()'s to say, before.
  Status save(Session &session, const Progress &progress, int64_t keep);
  Status check(Session &session) const;

  // Makes room for begin(). Code::Limit if there is none.
  Status prepare(Session &session);
  // Copies the state. Code::Limit if there is no room for it, Code::Diverged as
  // save().
  Status copy(Session &session);
  // As save(), of the copy, by a thread of low priority. Nothing else may be
  // called until end() has told how it went.
  void begin(Session &session, const Progress &progress, int64_t keep);
  struct Written {
    int64_t step;
    Status status;
  };
  // Once for each begin(): when it is done, which is waited for if `wait`.
  std::optional<Written> end(bool wait);

  // Loads the newest that is whole; newer ones that are not are set aside, with
  // a warning. Step 0, with the artifact's state, if there is none.
  // Code::Corrupt if there are some and all are damaged.
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
  std::map<std::string, std::string> whole_; // path: what its files were then
  std::unique_ptr<Parts> parts_;             // or rank 0 writes all
  StateCopy copy_;
  Written written_{};
  std::atomic<bool> done_ = false;
  std::thread thread_; // of begin(), until end()
};

} // namespace dlc
