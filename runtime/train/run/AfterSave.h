// SPDX-License-Identifier: Apache-2.0
// A program that is started for each checkpoint of a run (--after-save).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace dlc {

// By /bin/sh on a thread of its own, one at a time, with DLC_CHECKPOINT and
// DLC_STEP in its environment. Of checkpoints that are written meanwhile the
// newest waits for it; those that it leaves out, and a program that fails, are
// warnings. Lines of its standard error are messages.
class AfterSave {
public:
  // No command: nothing is started.
  explicit AfterSave(std::string command) : command_(std::move(command)) {}
  ~AfterSave(); // waits for what was begun

  void begin(const std::string &checkpoint, int64_t step);
  // Whether the checkpoint of this step has to stay; from any thread.
  bool needs(int64_t step) const;

private:
  struct Saved {
    std::string path;
    int64_t step = 0;
  };
  void run(const Saved &saved) const;

  const std::string command_;
  mutable std::mutex mutex_; // of the two
  std::optional<Saved> running_, waiting_;
  std::thread thread_;
};

} // namespace dlc
