// SPDX-License-Identifier: Apache-2.0
// One launch of a kernel: its memory, its threads' registers, and what goes
// wrong.
#pragma once

#include "Instruction.h"
#include "Races.h"
#include <memory>
#include <optional>

namespace dlc::ptx {

class Launch {
public:
  /// `global` are the arrays that parameters and variables are; `parameters`
  /// the bytes of all parameters.
  Launch(const Kernel &kernel, std::vector<Array> global,
         std::vector<uint8_t> parameters);

  /// Runs the current thread of test::Fibers to its end.
  void runThread();

  //===--- of instructions ------------------------------------------------===//

  /// Where the host has these bytes. Null, after fail(), if they are not
  /// aligned, lie outside of every array, or another thread accesses them at
  /// the same time.
  uint8_t *at(const Instruction *i, Thread &t, Space space, uint64_t address,
              uint64_t bytes, Access access);
  /// Ends the launch: names the line and the thread. Returns null.
  const Instruction *fail(const Instruction *i, const Thread &t,
                          const std::string &what);

  const Kernel &kernel;
  const std::vector<uint8_t> parameters;
  std::vector<Array> global, shared;
  std::vector<uint64_t> visits; // of each of the kernel's blocks of code

private:
  struct Frame {
    std::vector<uint64_t> registers;
    std::vector<uint8_t> defined, local;
  };
  Frame *takeFrame();
  std::string describe(const Thread &t, Space space, uint64_t address) const;

  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<Frame *> idle; // most threads end before others begin
  std::vector<std::vector<uint8_t>> sharedBytes;
  Races races;
};

} // namespace dlc::ptx
