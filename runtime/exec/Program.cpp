// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/Program.h"
#include "runtime/base/process/Log.h"
#include "runtime/exec/Follower.h"
#include "runtime/exec/reduce/Collectives.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/parts/RankItems.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <utility>

namespace dlc {

using Clock = std::chrono::steady_clock;

Result<std::unique_ptr<Program>> Program::bind(const ProgramContext &context,
                                               const plan::Program &program) {
  std::unique_ptr<Program> bound(new Program(context, program));
  DLC_TRY(bound->bindCommands());
  bound->findInputs();
  bound->findGaps();
  return bound;
}

Operand Program::buffer(uint32_t id) const {
  return context_.memory.operand(program_, id);
}

// The command with this rank's operands.
CommandSpec Program::ownSpec(const plan::Command &command) {
  CommandSpec spec = context_.memory.localise(program_, command, own_, types_);
  if (context_.collectives ||
      (command.kind() != "reduce_scatter" && !plan::gathersElsewhere(command)))
    return spec;
  plan::Command &copy = own_.emplace_back(); // one rank has all items
  copy.set_kind("copy");
  copy.set_label(command.label());
  return {copy, std::move(spec.inputs), std::move(spec.outputs)};
}

Status Program::bindCommands() {
  CollectiveBinder collectives(context_.collectives, context_.memory.share(),
                               context_.memory.shares());
  const int count = program_.commands_size();
  commands_.resize(static_cast<size_t>(count));
  timings_.resize(commands_.size());
  for (int i = 0; i < count; ++i) {
    const plan::Command &command = program_.commands(i);
    if (const int64_t most = plan::intAttribute(command, "ranks", 0);
        most > 0 && context_.memory.ranks() > most)
      return incompatible(
          "{}: the artifact has memory for the rows of {} ranks, but there are "
          "{}: compile with --ddp={}, or with --sparse-embeddings=off",
          plan::describe(command), most, context_.memory.ranks(),
          context_.memory.ranks());
    const CommandSpec spec = ownSpec(command);
    if (!context_.collectives)
      collectives.skip(plan::intAttribute(command, "bucket", -1));
    DLC_ASSIGN(commands_[static_cast<size_t>(i)],
               CollectiveBinder::binds(spec.command.kind())
                   ? collectives.bind(spec)
                   : context_.device.bind(spec));
  }
  collectives_ = collectives.started();
  return {};
}

bool Program::isInRegion(uint32_t id, std::string_view region) const {
  const plan::Buffer &buffer = program_.buffers(static_cast<int>(id));
  return buffer.type().dtype() == plan::F32 &&
         context_.plan.regions(static_cast<int>(buffer.region())).name() ==
             region;
}

Status Program::injectInfinity() {
  // After a reduce-scatter, a rank's part of a gradient may be empty.
  for (int i = 0; i < program_.commands_size(); ++i)
    if (program_.commands(i).kind() == "reduce_scatter" &&
        program_.buffers(static_cast<int>(program_.commands(i).inputs(0)))
                .type()
                .dtype() == plan::F32) {
      injectBefore_ = static_cast<size_t>(i);
      injected_ = buffer(program_.commands(i).inputs(0));
      return {};
    }
  for (int i = 0; i < program_.commands_size(); ++i) {
    for (uint32_t id : program_.commands(i).inputs())
      if (isInRegion(id, "gradient")) {
        injectBefore_ = static_cast<size_t>(i);
        injected_ = buffer(id);
        return {};
      }
    for (uint32_t id : program_.commands(i).outputs())
      if (isInRegion(id, "accumulator")) {
        injectBefore_ = static_cast<size_t>(i) + 1;
        injected_ = buffer(id);
        return {};
      }
  }
  return usageError("{} has no f32 gradient to make infinite", program_.name());
}

Status Program::inject() {
  const float infinity = std::numeric_limits<float>::infinity();
  injectBefore_ = SIZE_MAX;
  // At the end of the range, whose beginning may hold the loss.
  const uint64_t bytes = plan::bytesOf(*injected_.type).value_or(0);
  return context_.device.upload(injected_.data + bytes - sizeof infinity,
                                &infinity, sizeof infinity);
}

void Program::lead(Follower &follower) {
  follower_ = &follower;
  waitBefore_ = follower.firstConflict(program_);
}

Status Program::run(bool timed) {
  if (context_.collectives)
    context_.collectives->announce(collectives_);
  const bool plain = timed || context_.name || injectBefore_ != SIZE_MAX;
  // The first step initialises what cannot be recorded.
  if (!context_.record || plain || !std::exchange(ranBefore_, true))
    return enqueueAll(timed);
  if (!recording_)
    DLC_TRY(record());
  return recording_->enqueue();
}

Status Program::record() {
  DLC_TRY(context_.device.beginRecording());
  const Status enqueued = enqueueAll(false);
  auto recording = context_.device.endRecording(); // after an error, too
  DLC_TRY(enqueued);
  DLC_TRY(recording.status());
  recording_ = *std::move(recording);
  return {};
}

Status Program::enqueueAll(bool timed) {
  const Clock::time_point begin = Clock::now();
  for (size_t i = 0; i < commands_.size(); ++i) {
    if (i == waitBefore_)
      DLC_TRY(follower_->wait());
    if (i == injectBefore_)
      DLC_TRY(inject());
    const Clock::time_point start = Clock::now();
    if (commands_[i])
      DLC_TRY(commands_[i]->enqueue());
    if (timed || context_.name)
      DLC_TRY(context_.device.synchronize(
          plan::describe(program_.commands(static_cast<int>(i)))));
    if (!timed)
      continue;
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    Timing &timing = timings_[i];
    timing.least = timing.calls ? std::min(timing.least, seconds) : seconds;
    timing.seconds += seconds;
    timing.begin += std::chrono::duration<double>(start - begin).count();
    ++timing.calls;
  }
  if (commands_.size() == injectBefore_)
    DLC_TRY(inject());
  return {};
}

Status Program::runProbed(Probe &probe) {
  if (context_.collectives)
    context_.collectives->announce(collectives_);
  for (size_t i = 0; i < commands_.size(); ++i) {
    if (i == injectBefore_)
      DLC_TRY(inject());
    if (!commands_[i])
      continue;
    const plan::Command &command = program_.commands(static_cast<int>(i));
    std::deque<plan::TensorType> types;
    const CommandSpec spec = context_.memory.narrow(program_, command, types);
    const ProbedCommand probed{command, static_cast<int>(i), spec.inputs,
                               spec.outputs, context_.device};
    if (plan::copiesBesideCommands(command)) {
      DLC_TRY(commands_[i]->enqueue());
      probe.moved(probed);
      continue;
    }
    DLC_TRY(probe.before(probed));
    DLC_TRY(commands_[i]->enqueue());
    DLC_TRY(probe.after(probed));
  }
  return commands_.size() == injectBefore_ ? inject() : Status();
}

static uint64_t roomOf(const plan::TensorType &type) {
  return alignedBytes(plan::bytesOf(type).value_or(0));
}

uint64_t Program::bytesOfInputs(const plan::Program &program) {
  uint64_t bytes = 0;
  for (const plan::Port &port : program.inputs())
    bytes += roomOf(program.buffers(static_cast<int>(port.buffer())).type());
  return bytes;
}

void Program::findInputs() {
  uint64_t offset = 0;
  for (const plan::Port &port : program_.inputs()) {
    const Operand input = buffer(port.buffer());
    pieces_.push_back(
        {offset, input.data, plan::bytesOf(*input.type).value_or(0)});
    offset += roomOf(*input.type);
  }
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
    const uint64_t end = std::max<uint64_t>(
        context_.plan.regions(region).bytes(), program_.scratch_bytes());
    taken.emplace_back(end, end);
    std::sort(taken.begin(), taken.end());
    uint64_t at = 0;
    for (const auto &[begin, last] : taken) {
      if (begin > at)
        gaps_.emplace_back(context_.memory.region(region) + at, begin - at);
      at = std::max(at, last);
    }
  }
}

} // namespace dlc
