// One program of a plan, bound to a device.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/exec/CollectiveQueue.h"
#include "runtime/exec/Probe.h"

#include <memory>
#include <vector>

namespace dlc {

// A device, the memory of the plan on it, and the collectives if there are
// several ranks.
struct ProgramContext {
  Device &device;
  const plan::Plan &plan;
  const std::vector<std::byte *> &regions; // by region index
  CollectiveQueue *collectives;            // null with one rank
};

class Program {
public:
  struct Timing {
    uint64_t calls = 0;
    double seconds = 0;
  };

  // Binds every command; all_reduce and wait become the queue's.
  static Result<std::unique_ptr<Program>> bind(const ProgramContext &context,
                                               const plan::Program &program);

  // The next run makes a gradient infinite: the end of the first range of
  // gradients that a command reads, just before it does; in a program that only
  // adds to accumulators, the end of the first sum.
  Status injectInfinity();

  // All commands in order, timed if `timed`; stops at the first error.
  Status run(bool timed);
  // The same, one at a time, with the probe around each.
  Status runProbed(Probe &probe);

  const plan::Program &plan() const { return program_; }
  Operand buffer(uint32_t id) const;
  // Ranges of scratch that no input occupies.
  const std::vector<std::pair<std::byte *, uint64_t>> &gaps() const {
    return gaps_;
  }
  std::vector<Timing> &timings() { return timings_; }

private:
  Program(const ProgramContext &context, const plan::Program &program)
      : context_(context), program_(program) {}
  Status bindCommands();
  Status inject();
  bool isInRegion(uint32_t buffer, std::string_view region) const;
  void findGaps();

  ProgramContext context_;
  const plan::Program &program_;
  std::vector<std::unique_ptr<Command>> commands_;
  std::vector<Timing> timings_;
  size_t injectBefore_ = SIZE_MAX; // command
  Operand injected_;
  std::vector<std::pair<std::byte *, uint64_t>> gaps_;
};

} // namespace dlc
