// SPDX-License-Identifier: Apache-2.0
// A GPU that is a stand-in: its traces and complaints, and commands on it.
#pragma once

#include "ProductEpilogues.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/plan/Types.h"
#include "test/pretend/libraries/Standin.h"
#include "test/unit/TempFolder.h"

#include <fstream>
#include <map>
#include <random>
#include <span>

namespace dlc::test {

// y[i] = a[i] + b[i] for the 256 elements of a block.
inline void addOnHost(const standin::Launch &launch) {
  const auto pointer = [&](int i) {
    return *static_cast<float **>(launch.parameters[i]);
  };
  for (unsigned i = 0; i < launch.grid[0] * launch.block[0]; ++i)
    pointer(2)[i] = pointer(0)[i] + pointer(1)[i];
}
inline void addAccesses(const standin::Launch &launch, void *context,
                        void (*sink)(void *, standin::Access)) {
  for (int i = 0; i < 3; ++i)
    sink(context, {*static_cast<void **>(launch.parameters[i]),
                   sizeof(float) * launch.grid[0] * launch.block[0], i == 2});
}

constexpr const char *kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry add(
  .param .u64 a,
  .param .u64 b,
  .param .u64 y
)
{
  ret;
}
)";

class Cuda : public TempFolder {
protected:
  void SetUp() override {
    standin_ = standin::standin();
    ASSERT_TRUE(standin_) << "run by ctest: LD_LIBRARY_PATH has the stand-ins";
    violations_ = standin_->violations();
    standin_->registerKernel("add", addOnHost, addAccesses);
    ::setenv("DLC_STANDIN_TRACE", "memory", 1);
    standin_->clearTrace();
  }
  // A test that expects complaints takes them.
  void TearDown() override {
    EXPECT_EQ(takeViolations(), 0) << standin_->lastViolation();
  }
  int takeViolations() {
    const int now = standin_->violations();
    return now - std::exchange(violations_, now);
  }
  std::string trace() const { return standin_->trace(); }

  std::unique_ptr<CudaDevice> open() {
    auto device = CudaDevice::create(0);
    EXPECT_TRUE(device.ok()) << device.status().message();
    return device.ok() ? *std::move(device) : nullptr;
  }
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  // A device on which the kernel add is loaded.
  std::unique_ptr<CudaDevice> openWithKernels() {
    auto device = open();
    const Status loaded = device->loadKernels(write("kernels.ptx", kPtx));
    EXPECT_TRUE(loaded.ok()) << loaded.message();
    return device;
  }

  const standin::Interface *standin_ = nullptr;
  int violations_ = 0;
};

// Sets a variable while it is in scope.
class Environment {
public:
  Environment(const char *name, const std::string &value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { ::unsetenv(name_); }

private:
  const char *name_;
};

// A plan command with its types, on device memory.
class TestCommand {
public:
  explicit TestCommand(const std::string &kind) {
    command_.set_kind(kind);
    command_.set_label(kind + "_node");
  }
  TestCommand &in(std::byte *data, std::vector<int64_t> shape,
                  plan::DType type = plan::F32) {
    inputs_.push_back({data, addType(type, shape)});
    return *this;
  }
  TestCommand &out(std::byte *data, std::vector<int64_t> shape,
                   plan::DType type = plan::F32) {
    outputs_.push_back({data, addType(type, shape)});
    return *this;
  }
  TestCommand &set(const std::string &name, int64_t value) {
    add(name).set_i(value);
    return *this;
  }
  TestCommand &set(const std::string &name, const char *value) {
    add(name).set_s(value);
    return *this;
  }
  TestCommand &real(const std::string &name, double value) {
    add(name).set_f(value);
    return *this;
  }
  TestCommand &list(const std::string &name, std::vector<int64_t> values) {
    auto &list = *add(name).mutable_ints();
    for (int64_t value : values)
      list.add_values(value);
    return *this;
  }
  CommandSpec spec() const { return {command_, inputs_, outputs_}; }

private:
  plan::Attribute &add(const std::string &name) {
    plan::Attribute &attribute = *command_.add_attributes();
    attribute.set_name(name);
    return attribute;
  }
  const plan::TensorType *addType(plan::DType type,
                                  const std::vector<int64_t> &shape) {
    types_.push_back(std::make_unique<plan::TensorType>());
    types_.back()->set_dtype(type);
    for (int64_t dim : shape)
      types_.back()->add_shape(dim);
    return types_.back().get();
  }
  plan::Command command_;
  std::vector<std::unique_ptr<plan::TensorType>> types_;
  std::vector<Operand> inputs_, outputs_;
};

// Commands on memory that begins at base_.
class CudaCommands : public Cuda {
protected:
  explicit CudaCommands(uint64_t bytes) : bytes_(bytes) {}
  void SetUp() override {
    Cuda::SetUp();
    gpu_ = open();
    base_ = *gpu_->allocate(bytes_, "memory");
  }
  void run(const TestCommand &command) {
    const CommandSpec spec = command.spec();
    auto bound = gpu_->bind(spec);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    ASSERT_TRUE((*bound)->enqueue().ok());
    ASSERT_TRUE(gpu_->synchronize().ok());
  }
  std::string refusal(const TestCommand &command) {
    const CommandSpec spec = command.spec();
    return gpu_->bind(spec).status().message();
  }

  std::unique_ptr<CudaDevice> gpu_;
  std::byte *base_ = nullptr;

private:
  uint64_t bytes_;
};

// Runs commandOf(base), a command on memory that starts at `base`, on the GPU
// and on the CPU: `found` and `expected` are that memory afterwards, `floats`
// floats that were random multiples of 1/8. The GPU may replay a recording.
inline void runOnBoth(CudaDevice &gpu, const auto &commandOf, size_t floats,
                      bool recorded, std::vector<float> &found,
                      std::vector<float> &expected) {
  expected.resize(floats);
  found.resize(floats);
  const uint64_t size = floats * sizeof(float);
  std::mt19937 random(5);
  for (float &value : expected)
    value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 8;
  auto *const bytes = reinterpret_cast<std::byte *>(expected.data());
  std::byte *const base = *gpu.allocate(size, "memory");
  ASSERT_TRUE(gpu.upload(base, bytes, size).ok());
  const TestCommand onGpu = commandOf(base), onCpu = commandOf(bytes);
  auto command = gpu.bind(onGpu.spec());
  ASSERT_TRUE(command.ok()) << command.status().message();
  if (recorded) {
    ASSERT_TRUE(gpu.beginRecording().ok());
    ASSERT_TRUE((*command)->enqueue().ok());
    auto graph = gpu.endRecording();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    ASSERT_TRUE((*graph)->enqueue().ok());
  } else {
    ASSERT_TRUE((*command)->enqueue().ok());
  }
  CpuDevice cpu(1);
  cpu.add(productEpilogues());
  auto onHost = cpu.bind(onCpu.spec());
  ASSERT_TRUE(onHost.ok()) << onHost.status().message();
  ASSERT_TRUE((*onHost)->enqueue().ok());
  ASSERT_TRUE(gpu.download(found.data(), base, size).ok());
}

} // namespace dlc::test
