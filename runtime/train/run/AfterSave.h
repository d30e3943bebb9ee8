// SPDX-License-Identifier: Apache-2.0
// Runs a command for each checkpoint of a run (--after-save).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace dlc {

// Runs the command with /bin/sh on a separate thread, one at a time, with
// DLC_CHECKPOINT and DLC_STEP in its environment. Of the checkpoints written
// meanwhile only the newest waits for it; skipped ones, and failures of the
// command, are warnings. Lines of its standard error become messages.
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

} // namespace dlc
