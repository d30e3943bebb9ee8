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

// A device, the plan's memory on it, and collectives of several ranks.
struct ProgramContext {
  Device &device;
  const plan::Plan &plan;
  const RankMemory &memory;
  Reducer *collectives; // null with one rank
  bool record;          // record later steps and launch each as one
  bool name;            // wait after each command, so that errors name it
};

class Program {
public:
  struct Timing {
    uint64_t calls = 0;
    double seconds = 0, least = 0, begin = 0;
  };

  // Binds every command; all_reduce and wait become work of the Reducer.
  static Result<std::unique_ptr<Program>> bind(const ProgramContext &context,
                                               const plan::Program &program);

  // Makes a gradient infinite in the next run: the last element of the first
  // range of gradients that a command reads, just before it does; in a program
  // that only accumulates, the last element of the first sum.
  Status injectInfinity();

  // Makes every run wait for `follower` before the first command that conflicts
  // with it. Before the first run, on a device that does not record.
  void lead(Follower &follower);

  // Runs all commands in order; stops at the first error. If `timed`, waits for
  // and times each command.
  Status run(bool timed);
  // The same, one command at a time, with calls of the probe around each.
  Status runProbed(Probe &probe);

  const plan::Program &plan() const { return program_; }
  Operand buffer(uint32_t id) const;
  // Each input's offset in the feed, and where the program reads it.
  std::span<const InputFeed::Piece> inputPieces() const { return pieces_; }
  static uint64_t bytesOfInputs(const plan::Program &program); // in a feed
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
  // Copies of commands for this rank, and types of its parts.
  std::deque<plan::Command> own_;
  std::deque<plan::TensorType> types_;
  std::vector<int> collectives_; // tickets, in order
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
