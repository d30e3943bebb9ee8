// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/Granted.h"
#include "runtime/device/CpuFigures.h"
#include "runtime/exec/Devices.h"
#include "runtime/exec/ExecutorImpl.h"
#include "runtime/exec/InputLimits.h"
#include "runtime/exec/Largest.h"
#include "runtime/plan/Artifact.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Ports.h"
#include "runtime/plan/Types.h"

#include <algorithm>

namespace dlc {

Executor::Executor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executor::~Executor() = default;

Status wrongNumberOfRanks(uint32_t compiled, uint32_t found) {
  return incompatible("compiled for {} ranks, but {} run it; start {} or "
                      "compile with --ddp={}",
                      compiled, found, compiled, found);
}

// A plan for several ranks has all-reduces for any number of ranks; a single
// rank skips them.
static Status checkRanks(const plan::Plan &plan, Communicator *communicator) {
  const uint32_t wanted = plan.world_size();
  const uint32_t found =
      communicator ? static_cast<uint32_t>(communicator->size()) : 1;
  if (wanted == found || (wanted > 1 && communicator))
    return {};
  return wrongNumberOfRanks(wanted, found);
}

static bool overtakes(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs())
    for (const plan::Command &command : program.commands())
      if (plan::intAttribute(command, "ahead", 0))
        return true;
  return false;
}

static int ordinalOf(const Communicator *communicator) {
  const int rank = communicator ? communicator->rank() : 0;
  return environment::localRank().value_or(rank); // launch/Launch.h checks it
}

Result<std::unique_ptr<Executor>>
Executor::create(plan::Plan plan, const KernelFiles &kernels,
                 Communicator *communicator, const ExecutorOptions &options) {
  DLC_TRY(verifyPlan(plan));
  DLC_TRY(checkRanks(plan, communicator));
  DLC_ASSIGN(
      auto device,
      makeDevice(plan.target(), {options.threads,
                                 options.ordinal < 0 ? ordinalOf(communicator)
                                                     : options.ordinal,
                                 options.tune}));
  auto impl = std::make_unique<Impl>(std::move(plan), std::move(device),
                                     options.record);
  DLC_TRY(impl->allocate(kernels, communicator, options));
  return std::unique_ptr<Executor>(new Executor(std::move(impl)));
}

Status Executor::Impl::allocate(const KernelFiles &kernels,
                                Communicator *communicator,
                                const ExecutorOptions &options) {
  const int rank = communicator ? communicator->rank() : 0;
  memory_.emplace(plan_, rank, communicator ? communicator->size() : 1,
                  options.group);
  uint64_t all = 0;
  for (int i = 0; i < plan_.regions_size(); ++i)
    all += memory_->bytesOf(i);
  if (device_->isHost())
    if (Status fits = checkMemory(all, "the model"); !fits.ok())
      return withLargestTensors(fits, plan_);
  for (int i = 0; i < plan_.regions_size(); ++i) {
    const plan::Region &region = plan_.regions(i);
    if (region.kind() == plan::Region::HOST) {
      DLC_ASSIGN(std::byte *const host, device_->allocateHost(region.bytes()));
      memory_->setRegion(i, host);
      continue;
    }
    auto data = device_->allocate(memory_->bytesOf(i), region.name());
    if (!data.ok())
      return withLargestTensors(data.status(), plan_);
    memory_->setRegion(i, *data);
  }
  parts_.emplace(*device_, *memory_, rank == 0);
  programs_.resize(plan_.programs_size());
  if (communicator && communicator->size() > 1) {
    DLC_ASSIGN(collectives_,
               makeReducer(plan_.target(), *device_, *communicator,
                           options.timeout, static_cast<size_t>(options.group),
                           overtakes(plan_)));
  }
  DLC_TRY(openFeed());
  kernels_ = kernels;
  return kernels.empty() ? Status() : device_->loadKernels(kernels);
}

// Allocates room for the inputs of any program.
Status Executor::Impl::openFeed() {
  uint64_t most = 0;
  for (const plan::Program &program : plan_.programs())
    most = std::max(most, Program::bytesOfInputs(program));
  auto feed = device_->inputFeed(most);
  if (!feed)
    return withLargestTensors(feed.status(), plan_);
  feed_ = *std::move(feed);
  return {};
}

Result<Reports *> Executor::Impl::reports(std::string_view name) {
  DLC_ASSIGN(Program *const program, this->program(name));
  std::unique_ptr<Reports> &reports = reports_[program];
  if (!reports) {
    auto created = Reports::create(*device_, *program);
    if (!created)
      return withLargestTensors(created.status(), plan_);
    reports = *std::move(created);
  }
  return reports.get();
}

// Binds a program, and its follower if it has one.
Result<std::unique_ptr<Program>> Executor::Impl::bind(int index) {
  const plan::Program &plan = plan_.programs(index);
  if (!plan.after().empty())
    return usageError("'{}' runs after '{}' and not by itself", plan.name(),
                      plan.after());
  DLC_TRY(device_->makeCurrent());
  const bool isLarge = needsMoreScratch(plan_, plan);
  if (isLarge && !predicting_) {
    uint64_t most = 0; // shared by such programs
    for (const plan::Program &other : plan_.programs())
      most = std::max<uint64_t>(most, other.scratch_bytes());
    auto more = withScratch(*memory_, plan_, most, *device_, "predictions");
    if (!more)
      return withLargestTensors(more.status(), plan_);
    predicting_ = *std::move(more);
  }
  const RankMemory &memory = isLarge ? *predicting_ : *memory_;
  auto bound = Program::bind(
      {*device_, plan_, memory, collectives_.get(), record_, name_}, plan);
  if (!bound)
    return withLargestTensors(bound.status(), plan_);
  std::unique_ptr<Program> program = *std::move(bound);
  for (const plan::Program &other : plan_.programs())
    if (plan::isFollowedBy(plan, other)) {
      if (!device_->hostPointer(memory_->region(0)))
        return incompatible("'{}' runs on the host, which cannot see the "
                            "memory of {}; compile without --ema's device=cpu",
                            other.name(), device_->name());
      if (!follower_) {
        DLC_ASSIGN(follower_,
                   Follower::create(plan_, other, *memory_, kernels_));
      }
      program->lead(*follower_);
    }
  return program;
}

Result<Program *> Executor::Impl::program(std::string_view name) {
  for (int i = 0; i < plan_.programs_size(); ++i) {
    if (plan_.programs(i).name() != name)
      continue;
    if (!programs_[i]) {
      DLC_ASSIGN(programs_[i], bind(i));
    }
    return programs_[i].get();
  }
  return failed("no program '{}' in the plan", name);
}

Result<TensorView> Executor::Impl::view(const Operand &operand,
                                        std::string_view name) {
  std::byte *data = device_->hostPointer(operand.data);
  if (!data)
    return incompatible("'{}' is in memory of {} that the host cannot see",
                        name, device_->name());
  return TensorView{operand.type, data,
                    plan::bytesOf(*operand.type).value_or(0)};
}

Status Executor::Impl::checkInputsSet(const plan::Program &program) {
  for (int i = 0; i < program.inputs_size(); ++i)
    if (inputsOf_ != &program || !isSet_[i])
      return usageError("{}: input '{}' was not set before this run",
                        program.name(), program.inputs(i).name());
  return {};
}

Status Executor::Impl::run(Program &program, Probe *probe) {
  if (poison_)
    for (const auto &[data, bytes] : program.gaps())
      DLC_TRY(device_->fill(data, 0xff, bytes));
  if (feed_)
    DLC_TRY(feed_->deliver(program.inputPieces()));
  if (std::exchange(inject_, false))
    DLC_TRY(program.injectInfinity());
  return probe ? program.runProbed(*probe) : program.run(profiling_);
}

// `status`, or the error of a collective, which may have caused it.
Status Executor::Impl::settled(const Status &status) {
  if (!collectives_)
    return status;
  if (broken_.ok())
    broken_ = collectives_->status();
  return broken_.ok() ? status : broken_;
}

const plan::Plan &Executor::plan() const { return impl_->plan_; }
bool Executor::isOnHost() const { return impl_->device_->isHost(); }
MemoryReport Executor::memory() const { return impl_->device_->memory(); }

Status Executor::prepare(std::string_view program) {
  return impl_->program(program).status();
}

Status Executor::run(std::string_view name, Probe *probe) {
  Impl &impl = *impl_;
  DLC_TRY(impl.broken_);
  DLC_ASSIGN(Program *const program, impl.program(name));
  DLC_TRY(impl.checkInputsSet(program->plan()));
  impl.inputsOf_ = impl.outputsOf_ = nullptr;
  impl.reported_ = nullptr;
  impl.parts_->dropChanged(impl.plan_, program->plan());
  Follower *const follower = impl.followerOf(program->plan());
  if (follower)
    impl.parts_->dropChanged(impl.plan_, follower->program().plan());
  if (!follower || probe)
    DLC_TRY(impl.settle());
  DLC_TRY(impl.device_->makeCurrent());
  Status status = impl.run(*program, probe);
  if (impl.collectives_) {
    impl.broken_ = impl.collectives_->endStep();
    if (status.ok())
      status = impl.broken_;
  }
  if (status.ok() && follower) {
    status = follower->wait(); // of its previous run
    if (status.ok())
      follower->start(impl.profiling_);
  }
  if (status.ok())
    impl.outputsOf_ = &program->plan();
  return status;
}

Status Executor::synchronize() {
  DLC_TRY(impl_->device_->makeCurrent());
  return impl_->settled(impl_->device_->synchronize());
}

static int findPort(const auto &ports, std::string_view name) {
  for (int i = 0; i < ports.size(); ++i)
    if (ports[i].name() == name)
      return i;
  return -1;
}

Status Executor::setInput(std::string_view name, std::string_view portName,
                          const void *data, uint64_t bytes) {
  Impl &impl = *impl_;
  DLC_ASSIGN(Program *const program, impl.program(name));
  const plan::Program &plan = program->plan();
  const int index = findPort(plan.inputs(), portName);
  if (index < 0)
    return usageError("{} has no input '{}'", name, portName);
  const plan::Port &port = plan.inputs(index);
  const Operand buffer = program->buffer(port.buffer());
  if (const uint64_t expected = plan::bytesOf(*buffer.type).value_or(0);
      bytes != expected)
    return usageError("input '{}' has {} bytes, expected {}", portName, bytes,
                      expected);
  DLC_TRY(checkValues(port, buffer.type->dtype(), data, bytes));
  if (impl.inputsOf_ != &plan) {
    impl.inputsOf_ = &plan;
    impl.isSet_.assign(plan.inputs_size(), false);
  }
  impl.outputsOf_ = nullptr;
  impl.reported_ = nullptr;
  DLC_TRY(impl.device_->makeCurrent());
  DLC_TRY(impl.feed_ ? impl.feed_->put(program->inputPieces()[index].offset,
                                       data, bytes)
                     : impl.device_->upload(buffer.data, data, bytes));
  impl.isSet_[index] = true;
  return {};
}

int Executor::runsAhead() const {
  return impl_->feed_ ? Readback::kUnread - 1 : 0;
}

Status Executor::report(std::string_view program) {
  DLC_TRY(impl_->device_->makeCurrent());
  DLC_ASSIGN(Reports *const reports, impl_->reports(program));
  if (!impl_->outputsOf_ || impl_->outputsOf_->name() != program)
    return usageError("{} has no report: it did not run last", program);
  impl_->reported_ = reports;
  return reports->post();
}

Result<std::span<const TensorView>>
Executor::readReport(std::string_view program) {
  DLC_TRY(impl_->device_->makeCurrent());
  DLC_ASSIGN(Reports *const reports, impl_->reports(program));
  if (reports->areInPlace() &&
      std::exchange(impl_->reported_, nullptr) != reports)
    return usageError("there is no report to read");
  auto outputs = reports->collect();
  const Status settled = impl_->settled(outputs.status());
  return settled.ok() ? outputs : settled;
}

std::optional<double> Executor::secondsBlocked() const {
  return impl_->collectives_ ? impl_->collectives_->blocked() : std::nullopt;
}

void Executor::injectInfinity() { impl_->inject_ = true; }
std::vector<Program *> Executor::Impl::bound() {
  std::vector<Program *> all;
  for (const auto &program : programs_)
    if (program)
      all.push_back(program.get());
  if (follower_)
    all.push_back(&follower_->program());
  return all;
}

void Executor::setProfiling(bool on) {
  (void)impl_->settle(); // the next run returns its error
  impl_->profiling_ = on;
  for (Program *program : impl_->bound())
    if (on)
      std::fill(program->timings().begin(), program->timings().end(),
                Program::Timing());
}

std::vector<CommandProfile> Executor::profile() const {
  (void)impl_->settle();
  std::vector<CommandProfile> result;
  for (Program *program : impl_->bound())
    for (int i = 0; i < program->plan().commands_size(); ++i) {
      const plan::Command &command = program->plan().commands(i);
      const Program::Timing &timing = program->timings()[i];
      result.push_back(
          {program->plan().name(), command.label(), command.kind(),
           plan::stringAttribute(command, "symbol", command.kind()),
           timing.calls, timing.seconds, timing.least, command.flops(),
           command.bytes(), computesInBf16(program->plan(), command),
           timing.begin, plan::intAttribute(command, "bucket", -1)});
    }
  return result;
}

} // namespace dlc
