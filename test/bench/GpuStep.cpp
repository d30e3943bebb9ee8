// SPDX-License-Identifier: Apache-2.0
#include "test/bench/GpuStep.h"

#include "runtime/base/files/Safetensors.h"
#include "runtime/device/Operands.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"
#include "test/bench/GpuArtifacts.h"

#include <algorithm>
#include <chrono>

namespace dlc::bench {
namespace {

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

} // namespace

Result<std::unique_ptr<GpuStep>> GpuStep::create(CudaDevice &device,
                                                 const Artifact &artifact) {
  DLC_ASSIGN(const plan::Program *program, trainingStep(artifact.plan()));
  std::unique_ptr<GpuStep> step(new GpuStep(device, artifact.plan(), *program));
  DLC_TRY(device.makeCurrent());
  DLC_TRY(step->allocate());
  DLC_TRY(step->loadState(artifact.statePath()));
  DLC_TRY(step->addInputs());
  DLC_TRY(device.loadKernels(artifact.kernels()));
  DLC_TRY(step->bindAll());
  return step;
}

Status GpuStep::allocate() {
  for (const plan::Region &region : plan_.regions()) {
    DLC_ASSIGN(std::byte * memory,
               device_.allocate(region.bytes(), region.name()));
    regions_.push_back(memory);
  }
  return {};
}

Status GpuStep::loadState(const std::string &path) {
  DLC_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(path));
  for (const plan::State &state : plan_.states())
    if (const NamedTensor *tensor = file.find(state.name()))
      DLC_TRY(device_.upload(regions_[state.region()] + state.offset(),
                             tensor->data, tensor->bytes));
  return {};
}

// A step may use the memory of its inputs for something else, so that they are
// copied there before each.
Status GpuStep::addInputs() {
  copy_.set_kind("copy");
  copy_.set_label("input");
  for (const plan::Port &port : program_.inputs()) {
    const Operand to = operandOf(program_, port.buffer(), regions_);
    const auto content =
        randomInput(*to.type, port.limit(), inputs_.size() + 1);
    DLC_ASSIGN(std::byte * kept, device_.allocate(content.size(), port.name()));
    DLC_TRY(device_.upload(kept, content.data(), content.size()));
    DLC_ASSIGN(auto bound, device_.bind({copy_, {{kept, to.type}}, {to}}));
    inputs_.push_back(std::move(bound));
  }
  return {};
}

Status GpuStep::bindAll() {
  for (const plan::Command &command : program_.commands()) {
    DLC_ASSIGN(auto bound, device_.bind(specOf(program_, command, regions_)));
    commands_.push_back(std::move(bound));
  }
  return {};
}

Status GpuStep::enqueueAll() {
  for (auto *list : {&inputs_, &commands_})
    for (auto &command : *list)
      DLC_TRY(command->enqueue());
  return {};
}

Status GpuStep::prepare() {
  DLC_TRY(enqueueAll());
  DLC_TRY(device_.synchronize());
  DLC_TRY(device_.beginRecording());
  DLC_TRY(enqueueAll());
  DLC_ASSIGN(recording_, device_.endRecording());
  DLC_TRY(recording_->enqueue());
  return device_.synchronize();
}

Result<double> GpuStep::time(int steps, int rounds) {
  std::vector<double> means;
  for (int round = 0; round < rounds; ++round) {
    const double start = now();
    for (int i = 0; i < steps; ++i)
      DLC_TRY(recording_->enqueue());
    DLC_TRY(device_.synchronize());
    means.push_back((now() - start) / steps);
  }
  return medianOf(means);
}

Result<double> timeAlone(CudaDevice &device, Command &command) {
  // Twenty, but of what takes long.
  DLC_TRY(device.synchronize());
  const double before = now();
  DLC_TRY(command.enqueue());
  DLC_TRY(device.synchronize());
  const int repeats =
      std::clamp(static_cast<int>(0.1 / (now() - before)), 1, 20);
  DLC_TRY(device.beginRecording());
  for (int i = 0; i < repeats; ++i)
    DLC_TRY(command.enqueue());
  DLC_ASSIGN(auto repeated, device.endRecording());
  double least = 1e30;
  for (int round = 0; round < 3; ++round) {
    DLC_TRY(device.synchronize());
    const double start = now();
    DLC_TRY(repeated->enqueue());
    DLC_TRY(device.synchronize());
    least = std::min(least, (now() - start) / repeats);
  }
  return least;
}

Result<std::vector<TimedCommand>> GpuStep::timeCommands() {
  for (auto &input : inputs_)
    DLC_TRY(input->enqueue());
  std::vector<TimedCommand> timed;
  for (size_t i = 0; i < commands_.size(); ++i) {
    const plan::Command &command = program_.commands(static_cast<int>(i));
    const bool generated = command.kind() == "kernel";
    DLC_ASSIGN(const double seconds, timeAlone(device_, *commands_[i]));
    timed.push_back({generated
                         ? plan::stringAttribute(command, "symbol", "kernel")
                         : command.kind(),
                     command.label(), generated, command.flops(),
                     command.bytes(), seconds});
  }
  return timed;
}

Result<double> GpuStep::scalar(std::string_view name) {
  for (const plan::Port &port : program_.outputs())
    if (port.name() == name) {
      const Operand operand = operandOf(program_, port.buffer(), regions_);
      float value = 0;
      if (operand.type->dtype() != plan::F32)
        break;
      DLC_TRY(device_.download(&value, operand.data, sizeof value));
      return value;
    }
  return failed("train_step has no f32 output '{}'", name);
}

Result<double> copyBandwidth(CudaDevice &device) {
  const uint64_t bytes = std::min<uint64_t>(
      device.context().properties().memory / 16, uint64_t(2) << 30);
  plan::TensorType type;
  type.set_dtype(plan::U8);
  type.add_shape(static_cast<int64_t>(bytes));
  plan::Command copy;
  copy.set_kind("copy");
  copy.set_label("copy");
  DLC_ASSIGN(std::byte * from, device.allocate(bytes, "from"));
  DLC_ASSIGN(std::byte * to, device.allocate(bytes, "to"));
  DLC_TRY(device.fill(from, 0x55, bytes));
  DLC_ASSIGN(auto command, device.bind({copy, {{from, &type}}, {{to, &type}}}));
  double best = 0;
  for (int round = 0; round < 6; ++round) { // the first warms up
    DLC_TRY(device.synchronize());
    const double start = now();
    for (int i = 0; i < 10; ++i)
      DLC_TRY(command->enqueue());
    DLC_TRY(device.synchronize());
    best = std::max(best, 20 * static_cast<double>(bytes) / (now() - start));
  }
  return best;
}

} // namespace dlc::bench
