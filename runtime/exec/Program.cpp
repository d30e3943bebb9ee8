#include "runtime/exec/Program.h"
#include "runtime/exec/Collectives.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace dlc {

using Clock = std::chrono::steady_clock;

Result<std::unique_ptr<Program>> Program::bind(const ProgramContext &context,
                                               const plan::Program &program) {
  std::unique_ptr<Program> bound(new Program(context, program));
  DLC_TRY(bound->bindCommands());
  bound->findGaps();
  return bound;
}

Operand Program::buffer(uint32_t id) const {
  const plan::Buffer &buffer = program_.buffers(static_cast<int>(id));
  return {context_.regions[buffer.region()] + buffer.offset(), &buffer.type()};
}

Status Program::bindCommands() {
  CollectiveBinder collectives(context_.collectives);
  for (const plan::Command &command : program_.commands()) {
    CommandSpec spec{command, {}, {}};
    for (uint32_t id : command.inputs())
      spec.inputs.push_back(buffer(id));
    for (uint32_t id : command.outputs())
      spec.outputs.push_back(buffer(id));
    DLC_ASSIGN(auto bound, CollectiveBinder::binds(command.kind())
                               ? collectives.bind(spec)
                               : context_.device.bind(spec));
    commands_.push_back(std::move(bound));
  }
  timings_.resize(commands_.size());
  return {};
}

Status Program::injectInfinity() {
  for (int i = 0; i < program_.commands_size(); ++i) {
    const plan::Command &command = program_.commands(i);
    if ((command.kind() == "all_reduce" || command.kind() == "all_finite") &&
        buffer(command.inputs(0)).type->dtype() == plan::F32) {
      injectBefore_ = static_cast<size_t>(i);
      return {};
    }
  }
  return usageError("{} neither reduces nor checks gradients: compile with "
                    "--loss-scale or --ddp",
                    program_.name());
}

Status Program::inject() {
  const float infinity = std::numeric_limits<float>::infinity();
  const plan::Command &command =
      program_.commands(static_cast<int>(injectBefore_));
  injectBefore_ = SIZE_MAX;
  const Operand gradient = buffer(command.inputs(0));
  // The end of the range: its head may hold the loss.
  const uint64_t bytes = plan::bytesOf(*gradient.type).value_or(0);
  return context_.device.upload(gradient.data + bytes - sizeof infinity,
                                &infinity, sizeof infinity);
}

Status Program::run(bool timed) {
  for (size_t i = 0; i < commands_.size(); ++i) {
    if (i == injectBefore_)
      DLC_TRY(inject());
    if (!timed) {
      DLC_TRY(commands_[i]->enqueue());
      continue;
    }
    const Clock::time_point start = Clock::now();
    DLC_TRY(commands_[i]->enqueue());
    timings_[i].seconds +=
        std::chrono::duration<double>(Clock::now() - start).count();
    ++timings_[i].calls;
  }
  return {};
}

void Program::findGaps() {
  for (int region = 0; region < context_.plan.regions_size(); ++region) {
    if (context_.plan.regions(region).kind() != plan::Region::SCRATCH)
      continue;
    std::vector<std::pair<uint64_t, uint64_t>> taken; // begin, end
    for (const plan::Port &port : program_.inputs())
      if (const plan::Buffer &buffer =
              program_.buffers(static_cast<int>(port.buffer()));
          buffer.region() == static_cast<uint32_t>(region))
        taken.emplace_back(buffer.offset(),
                           buffer.offset() +
                               plan::bytesOf(buffer.type()).value_or(0));
    const uint64_t end = context_.plan.regions(region).bytes();
    taken.emplace_back(end, end);
    std::sort(taken.begin(), taken.end());
    uint64_t at = 0;
    for (const auto &[begin, last] : taken) {
      if (begin > at)
        gaps_.emplace_back(context_.regions[region] + at, begin - at);
      at = std::max(at, last);
    }
  }
}

} // namespace dlc
