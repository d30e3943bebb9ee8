// SPDX-License-Identifier: Apache-2.0
// A program whose standard output is read as it comes.
#pragma once

#include "runtime/base/Status.h"

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace dlc {

// Of one thread.
class PipeProgram {
public:
  // Starts `command` by /bin/sh, in a process group of its own, with
  // `variables` ("NAME=VALUE") besides this process's. It reads nothing. When
  // this process ends, in whatever way, so does the group.
  static Result<std::unique_ptr<PipeProgram>>
  start(const std::string &command, const std::vector<std::string> &variables);
  // What this process reads itself.
  static std::unique_ptr<PipeProgram> standardInput();
  // Ends the group: SIGTERM, and after a second SIGKILL.
  ~PipeProgram();
  PipeProgram(const PipeProgram &) = delete;
  PipeProgram &operator=(const PipeProgram &) = delete;

  // Reads `size` bytes, fewer only at the end of the output. Code::Failed if
  // nothing comes for `patience`, or soon after `stop` is set.
  Result<size_t> read(std::byte *to, size_t size,
                      std::chrono::milliseconds patience,
                      const std::atomic<bool> &stop);
  // At the end of the output, for a message: "it ended with exit code 3" and
  // its last words.
  std::string ending();
  // After ending(): whether a signal of kStopSignals ended it, which others may
  // have got, too; unknown, so true, of standard input.
  bool wasStopped() const { return stopped_; }

private:
  PipeProgram() = default;
  void readErrors();

  int output_ = -1, errors_ = -1, life_ = -1; // life_: closed when we end
  pid_t program_ = -1, guard_ = -1; // guard_ leads the group, and ends with us
  std::string lastWords_;
  bool stopped_ = false;
};

} // namespace dlc
