// SPDX-License-Identifier: Apache-2.0
// gpu-kernels PACK: every kernel of a pack (dlc-kernel-pack) on the GPU against
// the CPU backend's form of it, attention against plain loops, on random
// arrays; twice, for the same bytes, and nothing is written beside its outputs.
#include "runtime/device/cuda/driver/Modules.h"
#include "test/gpu/Gpu.h"
#include "test/gpu/PackedAttention.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace dlc::test {
namespace {

using CpuKernel = void (*)(void *const *, int64_t, int64_t);

// Host copies of arrays, each with a guard of kGuard bytes behind it.
constexpr size_t kGuard = 256;
constexpr auto kUntouched = std::byte(0xaa);

class Arrays {
public:
  explicit Arrays(const std::vector<Elements> &types) : types_(types) {
    for (const Elements &type : types)
      arrays_.emplace_back((type.bytes() + kGuard + 255) / 256 * 256,
                           kUntouched);
  }
  size_t size() const { return arrays_.size(); }
  const Elements &type(size_t i) const { return types_[i]; }
  std::vector<std::byte> &operator[](size_t i) { return arrays_[i]; }
  std::string damage(size_t i) const {
    for (size_t at = types_[i].bytes(); at < arrays_[i].size(); ++at)
      if (arrays_[i][at] != kUntouched)
        return fmt::format("byte {} behind its {} bytes was written",
                           at - types_[i].bytes(), types_[i].bytes());
    return "";
  }

private:
  const std::vector<Elements> &types_;
  std::vector<std::vector<std::byte>> arrays_;
};

struct Pack {
  std::string folder;
  void *cpu = nullptr;
  std::byte *memory = nullptr; // for all arrays of a kernel
};
Pack pack;

class KernelTest : public testing::Test {
public:
  explicit KernelTest(const PackedKernel &kernel) : k_(kernel) {}

  void TestBody() override {
    cpu_ = reinterpret_cast<CpuKernel>(::dlsym(pack.cpu, k_.name.c_str()));
    ASSERT_TRUE(cpu_ || k_.attention) << "cpu.so has no " << k_.name;
    for (const bool positive : {true, false})
      ASSERT_NO_FATAL_FAILURE(check(positive));
  }

private:
  void check(bool positive) {
    std::mt19937 random(positive ? 1 : 2);
    Arrays inputs(k_.inputs), expected(k_.outputs), nudged(k_.outputs),
        found(k_.outputs), again(k_.outputs);
    for (size_t i = 0; i < inputs.size(); ++i)
      fillRandom(k_.inputs[i], inputs[i].data(), positive, random, k_.below);
    if (k_.attention)
      completeInputs(k_, pointersTo(inputs));
    onCpu(inputs, expected);
    for (Arrays *outputs : {&found, &again}) {
      const Status status = onGpu(inputs, *outputs);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      nudge(k_.inputs[i], inputs[i].data(), random);
    onCpu(inputs, nudged);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(compare(k_.outputs[i], expected[i].data(), nudged[i].data(),
                        found[i].data()),
                "")
          << "output " << i << (positive ? ", positive inputs" : "");
      EXPECT_EQ(found.damage(i), "") << "output " << i;
      EXPECT_TRUE(found[i] == again[i])
          << "output " << i << " differs from run to run";
    }
  }

  static std::vector<void *> pointersTo(Arrays &arrays) {
    std::vector<void *> pointers;
    for (size_t i = 0; i < arrays.size(); ++i)
      pointers.push_back(arrays[i].data());
    return pointers;
  }
  void onCpu(Arrays &inputs, Arrays &outputs) {
    std::vector<void *> arguments = pointersTo(inputs);
    if (k_.attention)
      return runOnHost(k_, arguments, pointersTo(outputs));
    for (void *output : pointersTo(outputs))
      arguments.push_back(output);
    cpu_(arguments.data(), 0, k_.extent);
  }

  Status onGpu(Arrays &inputs, Arrays &outputs) {
    const plan::Command command = commandOf(k_);
    CommandSpec spec{command, {}, {}};
    std::byte *at = pack.memory;
    for (Arrays *arrays : {&inputs, &outputs})
      for (size_t i = 0; i < arrays->size(); ++i) {
        auto &array = (*arrays)[i];
        DLC_TRY(gpu().upload(at, array.data(), array.size()));
        (arrays == &inputs ? spec.inputs : spec.outputs).push_back({at, {}});
        at += array.size();
      }
    DLC_ASSIGN(auto bound, gpu().bind(spec));
    DLC_TRY(bound->enqueue());
    for (size_t i = 0; i < outputs.size(); ++i)
      DLC_TRY(gpu().download(outputs[i].data(), spec.outputs[i].data,
                             outputs[i].size()));
    return gpu().synchronize();
  }

  const PackedKernel &k_;
  CpuKernel cpu_ = nullptr;
};

Status openPack(const std::vector<PackedKernel> &kernels) {
  const std::string library = pack.folder + "/cpu.so";
  pack.cpu = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!pack.cpu)
    return failed("{}", ::dlerror());
  uint64_t most = 0;
  for (const PackedKernel &k : kernels) {
    uint64_t bytes = 0;
    for (const auto *list : {&k.inputs, &k.outputs})
      for (const Elements &elements : *list)
        bytes += elements.bytes() + kGuard + 255;
    most = std::max(most, bytes);
  }
  DLC_ASSIGN(pack.memory, gpu().allocate(most, "arrays"));
  DLC_ASSIGN(const KernelFiles files, KernelFiles::ofFolder(pack.folder));
  return gpu().loadKernels(files);
}

int fail(const std::string &message) {
  fmt::print(stderr, "{}\n", message);
  return 1;
}

int runAll(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2)
    return fail("usage: gpu-kernels PACK [--gtest_...]");
  pack.folder = argv[1];
  while (pack.folder.ends_with('/'))
    pack.folder.pop_back();
  auto kernels = readPack(pack.folder);
  if (!kernels)
    return fail(kernels.status().message());
  const std::string name = pack.folder.substr(pack.folder.rfind('/') + 1);
  for (const PackedKernel &kernel : *kernels)
    testing::RegisterTest(
        name.c_str(), kernel.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [&kernel]() -> KernelTest * { return new KernelTest(kernel); });
  if (testing::GTEST_FLAG(list_tests))
    return RUN_ALL_TESTS();
  // A stand-in of the driver plays these kernels by host functions.
  ::setenv("DLC_STANDIN_KERNELS", (pack.folder + "/host.so").c_str(), 0);
  if (const int code = findGpu())
    return code;
  if (const Status opened = openPack(*kernels); !opened.ok())
    return fail(opened.message());
  const int code = RUN_ALL_TESTS();
  closeGpu();
  return code;
}

} // namespace
} // namespace dlc::test

int main(int argc, char **argv) { return dlc::test::runAll(argc, argv); }
