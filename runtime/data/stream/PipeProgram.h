// SPDX-License-Identifier: Apache-2.0
// Reads the standard output of a child process.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/files/Descriptor.h"

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace dlc {

// Not thread-safe.
class PipeProgram {
public:
  // Starts `command` with /bin/sh, in a new process group, without input, with
  // `variables` ("NAME=VALUE") added to the environment. The group is killed
  // when this process ends for any reason.
  static Result<std::unique_ptr<PipeProgram>>
  start(const std::string &command, const std::vector<std::string> &variables);
  // Reads this process's standard input instead.
  static std::unique_ptr<PipeProgram> standardInput();
  // Ends the group: SIGTERM, and SIGKILL after a second.
  ~PipeProgram();
  PipeProgram(const PipeProgram &) = delete;
  PipeProgram &operator=(const PipeProgram &) = delete;

  // Reads `size` bytes; fewer only at the end of the output. Code::Failed if
  // nothing arrives for `patience`, or soon after `stop` is set.
  Result<size_t> read(std::byte *to, size_t size,
                      std::chrono::milliseconds patience,
                      const std::atomic<bool> &stop);
  // At the end of the output, for a message: "it ended with exit code 3" and
  // its last words on standard error.
  std::string ending();
  // After ending(): whether a signal of kStopSignals ended it, which other
  // processes may have got, too. Unknown for standard input: true.
  bool wasStopped() const { return stopped_; }

private:
  PipeProgram() = default;
  void readErrors();

  Descriptor life_; // closes with us, after the group's end
  Descriptor output_, errors_;
  pid_t program_ = -1, guard_ = -1; // guard_ leads the group
  std::string lastWords_;
  bool stopped_ = false;
};

} // namespace dlc
