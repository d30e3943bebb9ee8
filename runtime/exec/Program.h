// SPDX-License-Identifier: Apache-2.0
// One program of a plan, bound to a device.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/exec/Probe.h"
#include "runtime/exec/parts/RankMemory.h"
#include "runtime/exec/reduce/Reducer.h"

#include <deque>
#include <memory>
#include <set>
#include <vector>

namespace dlc {

class Follower;

// A device, the memory of the plan on it, and the collectives if there are
// several ranks.
struct ProgramContext {
  Device &device;
  const plan::Plan &plan;
  const RankMemory &memory;
  Reducer *collectives; // null with one rank
  bool record;          // the steps after the first, and launch them as one
  bool name;            // wait after each command, so that its error names it
};

class Program {
public:
  struct Timing {
    uint64_t calls = 0;
    double seconds = 0, least = 0, begin = 0;
  };

  // Binds every command; all_reduce and wait become the queue's.
  static Result<std::unique_ptr<Program>> bind(const ProgramContext &context,
                                               const plan::Program &program);

  // The next run makes a gradient infinite: the end of the first range of
  // gradients that a command reads, just before it does; in a program that only
  // adds to accumulators, the end of the first sum.
  Status injectInfinity();

  // Every run waits for `follower` before its first command that may not run
  // beside it. Before the first run, on a device that records nothing.
  void lead(Follower &follower);

  // All commands in order; stops at the first error. If `timed`, waits for and
  // times each.
  Status run(bool timed);
  // The same, one at a time, with the probe around each.
  Status runProbed(Probe &probe);

  const plan::Program &plan() const { return program_; }
  Operand buffer(uint32_t id) const;
  // Where a feed keeps each input on its way, and where the program reads it.
  std::span<const InputFeed::Piece> inputPieces() const { return pieces_; }
  static uint64_t bytesOfInputs(const plan::Program &program); // of a feed
  // Ranges of scratch that no input occupies.
  const std::vector<std::pair<std::byte *, uint64_t>> &gaps() const {
    return gaps_;
  }
  std::vector<Timing> &timings() { return timings_; }

private:
  Program(const ProgramContext &context, const plan::Program &program)
      : context_(context), program_(program) {}
  Status bindCommands();
  CommandSpec ownSpec(const plan::Command &command);
  Status inject();
  bool isInRegion(uint32_t buffer, std::string_view region) const;
  Status enqueueAll(bool timed);
  Status record();
  void findInputs();
  void findGaps();

  ProgramContext context_;
  const plan::Program &program_;
  std::vector<std::unique_ptr<Command>> commands_; // null: does not run
  // Commands as this rank runs them, and types of its parts.
  std::deque<plan::Command> own_;
  std::deque<plan::TensorType> types_;
  std::vector<Timing> timings_;
  size_t injectBefore_ = SIZE_MAX; // command
  Operand injected_;
  std::unique_ptr<Command> recording_;
  bool ranBefore_ = false;
  Follower *follower_ = nullptr;
  size_t waitBefore_ = SIZE_MAX; // command
  std::vector<InputFeed::Piece> pieces_;
  std::vector<std::pair<std::byte *, uint64_t>> gaps_;
};

} // namespace dlc
