// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda on the stand-in driver: memory, copies, kernels, graphs,
// errors. Nothing here says that a GPU does the same.
#include "Fixture.h"
#include "runtime/plan/Artifact.h"

#include <cstring>
#include <numeric>
#include <thread>

using namespace dlc;
using namespace dlc::test;
using testing::Test;

namespace {

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Cuda, CopiesThroughPinnedMemory) {
  auto device = open();
  const uint64_t size = 37'000'001; // more than the ring of slots holds
  auto data = device->allocate(size, "big");
  ASSERT_TRUE(data.ok()) << data.status().message();
  std::vector<uint8_t> sent(size), received(size);
  ASSERT_TRUE(device->download(received.data(), *data, size).ok());
  EXPECT_EQ(received, sent) << "allocate() zeroes";
  std::iota(sent.begin(), sent.end(), uint8_t(1));
  ASSERT_TRUE(device->upload(*data, sent.data(), size).ok());
  const std::vector<uint8_t> expected = sent;
  std::fill(sent.begin(), sent.end(), uint8_t(0)); // may be reused on return
  ASSERT_TRUE(device->download(received.data(), *data, size).ok());
  EXPECT_EQ(received, expected);
  ASSERT_TRUE(device->fill(*data, 7, 3).ok());
  ASSERT_TRUE(device->download(received.data(), *data, 4).ok());
  EXPECT_EQ(received[2], 7);
  EXPECT_EQ(received[3], 4);
  EXPECT_EQ(device->memory().regions, size);
  EXPECT_EQ(device->hostPointer(*data), nullptr);
  EXPECT_EQ(device->name(), "cuda:0");
}

TEST_F(Cuda, LaunchesKernelsAndCopies) {
  auto device = openWithKernels();
  std::byte *const memory = *device->allocate(4096, "scratch");
  std::vector<float> a(256), b(256), y(256);
  std::iota(a.begin(), a.end(), 0.f);
  std::iota(b.begin(), b.end(), 1000.f);
  ASSERT_TRUE(device->upload(memory, a.data(), 1024).ok());
  ASSERT_TRUE(device->upload(memory + 1024, b.data(), 1024).ok());
  TestCommand add("kernel"), copy("copy");
  add.in(memory, {256}).in(memory + 1024, {256}).out(memory + 2048, {256});
  add.set("symbol", "add").set("grid", int64_t(2)).set("block", int64_t(128));
  copy.in(memory + 2048, {256}).out(memory + 3072, {256});
  const CommandSpec addSpec = add.spec(), copySpec = copy.spec();
  auto addCommand = device->bind(addSpec), copyCommand = device->bind(copySpec);
  ASSERT_TRUE(addCommand.ok()) << addCommand.status().message();
  ASSERT_TRUE(copyCommand.ok()) << copyCommand.status().message();
  ASSERT_TRUE(device->synchronize().ok());
  standin_->clearTrace();
  ASSERT_TRUE((*addCommand)->enqueue().ok());
  ASSERT_TRUE((*copyCommand)->enqueue().ok());
  const std::string step = trace();
  ASSERT_TRUE(device->download(y.data(), memory + 3072, 1024).ok());
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(y[i], 1000.f + 2 * i);
  // Only the work itself: no allocation, nothing that the host waits for.
  EXPECT_TRUE(has(step, "cuLaunchKernel add grid 2,1,1 block 128,1,1 s"));
  EXPECT_TRUE(has(step, "cuMemcpyDtoDAsync d"));
  EXPECT_EQ(std::count(step.begin(), step.end(), '\n'), 2) << step;
}

TEST_F(Cuda, RecordsAGraph) {
  auto device = openWithKernels();
  std::byte *const memory = *device->allocate(4096, "scratch");
  TestCommand add("kernel");
  add.in(memory, {256}).in(memory + 1024, {256}).out(memory, {256});
  add.set("symbol", "add").set("grid", int64_t(1)).set("block", int64_t(256));
  const CommandSpec spec = add.spec();
  auto command = device->bind(spec);
  const std::vector<float> ones(256, 1);
  ASSERT_TRUE(device->upload(memory + 1024, ones.data(), 1024).ok());
  ASSERT_TRUE(device->beginRecording().ok());
  ASSERT_TRUE((*command)->enqueue().ok());
  ASSERT_TRUE((*command)->enqueue().ok());
  auto graph = device->endRecording();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  float value = -1;
  ASSERT_TRUE(device->download(&value, memory, 4).ok());
  EXPECT_EQ(value, 0) << "recording does nothing";
  standin_->clearTrace();
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE((*graph)->enqueue().ok());
  const std::string launches = trace();
  ASSERT_TRUE(device->download(&value, memory, 4).ok());
  EXPECT_EQ(value, 6);
  EXPECT_EQ(std::count(launches.begin(), launches.end(), '\n'), 3) << launches;
  EXPECT_TRUE(has(launches, "cuGraphLaunch g1 with 2 nodes s"));
}

TEST_F(Cuda, RefusesToWaitInAGraph) {
  auto device = openWithKernels();
  std::byte *const memory = *device->allocate(4096, "scratch");
  ASSERT_TRUE(device->beginRecording().ok());
  EXPECT_FALSE(device->synchronize().ok());
  EXPECT_FALSE(device->allocate(16, "more").ok());
  (void)device->endRecording().ok();
  EXPECT_EQ(takeViolations(), 2);
  EXPECT_TRUE(device->fill(memory, 0, 16).ok());
  EXPECT_TRUE(device->synchronize().ok());
}

TEST_F(Cuda, TheStandInFindsAnUnjoinedStream) {
  auto device = openWithKernels();
  std::byte *const memory = *device->allocate(4096, "scratch");
  CommunicationQueue &queue = *device->communicationQueue();
  const int point = *queue.addPoint();
  const auto communicate = [&] {
    return device->context().check(
        device->context().driver().cuMemsetD8Async(
            gpuAddress(memory), 1, 16, device->context().communication()),
        "memset");
  };
  ASSERT_TRUE(device->beginRecording().ok());
  ASSERT_TRUE(queue.fork(point).ok());
  ASSERT_TRUE(communicate().ok());
  auto graph = device->endRecording();
  ASSERT_FALSE(graph.ok());
  EXPECT_TRUE(has(graph.status().message(), "STREAM_CAPTURE_UNJOINED"));
  EXPECT_EQ(takeViolations(), 1);

  ASSERT_TRUE(device->beginRecording().ok());
  ASSERT_TRUE(queue.fork(point).ok());
  ASSERT_TRUE(communicate().ok());
  ASSERT_TRUE(queue.mark(point).ok());
  ASSERT_TRUE(queue.join(point).ok());
  graph = device->endRecording();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_TRUE((*graph)->enqueue().ok());
  EXPECT_TRUE(device->synchronize().ok());
}

TEST_F(Cuda, TheStandInFindsRaces) {
  auto device = open();
  std::byte *const memory = *device->allocate(4096, "scratch");
  ASSERT_TRUE(device->synchronize().ok());
  CommunicationQueue &queue = *device->communicationQueue();
  const int point = *queue.addPoint();
  const auto communicate = [&] {
    return device->context()
        .check(
            device->context().driver().cuMemsetD8Async(
                gpuAddress(memory), 1, 16, device->context().communication()),
            "memset")
        .ok();
  };
  ASSERT_TRUE(device->fill(memory + 8, 2, 16).ok());
  ASSERT_TRUE(communicate());
  EXPECT_EQ(takeViolations(), 1);
  EXPECT_TRUE(has(standin_->lastViolation(), "race: memset and memset touch"));
  ASSERT_TRUE(device->synchronize().ok()); // the host has waited for both
  ASSERT_TRUE(device->fill(memory, 2, 16).ok());
  ASSERT_TRUE(queue.fork(point).ok());
  ASSERT_TRUE(communicate());
  ASSERT_TRUE(queue.mark(point).ok());
  ASSERT_TRUE(queue.join(point).ok());
  ASSERT_TRUE(device->fill(memory, 2, 16).ok());
  EXPECT_EQ(takeViolations(), 0);
}

TEST_F(Cuda, StampsSayWhatIsDone) {
  auto device = open();
  CommunicationQueue &queue = *device->communicationQueue();
  EXPECT_EQ(*queue.completed(), 0u);
  for (uint64_t i = 1; i <= 20; ++i)
    EXPECT_EQ(*queue.stamp(), i);
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(*queue.completed(), 20u);
}

TEST_F(Cuda, AnyThreadMayAskWhatIsDone) {
  auto device = open();
  CommunicationQueue &queue = *device->communicationQueue();
  ASSERT_TRUE(queue.stamp().ok());
  ASSERT_TRUE(device->synchronize().ok());
  std::thread([&] {
    const auto completed = queue.completed();
    ASSERT_TRUE(completed.ok()) << completed.status().message();
    EXPECT_EQ(*completed, 1u);
    EXPECT_EQ(queue.passed(), 0u);
  }).join();
}

TEST_F(Cuda, KeepsTheContextForTheNextDevice) {
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(openWithKernels()->synchronize().ok());
  EXPECT_FALSE(has(trace(), "cuDevicePrimaryCtxRelease"));
}

TEST_F(Cuda, ShortMemoryComesWithATable) {
  Environment memory("DLC_STANDIN_MEMORY_MIB", "64");
  auto device = open();
  ASSERT_TRUE(device->allocate(40 << 20, "state").ok());
  ASSERT_TRUE(device->allocate(1 << 20, "gradients").ok());
  const Status status = device->allocate(30 << 20, "scratch").status();
  EXPECT_EQ(status.code(), Code::Limit);
  EXPECT_EQ(status.message(),
            "GPU 0 (Stand-in GPU) has not enough memory for scratch: 30.0 MiB "
            "wanted, 23.0 MiB of 64.0 MiB free\n"
            "      40.0 MiB  state\n"
            "       1.0 MiB  gradients\n"
            "(cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: an error of the stand-in "
            "driver)");
}

TEST_F(Cuda, BadCommandsAreRefused) {
  auto device = openWithKernels();
  std::byte *const memory = *device->allocate(4096, "scratch");
  const auto refuse = [&](const TestCommand &command) {
    return device->bind(command.spec()).status();
  };
  TestCommand unknown("wobble");
  EXPECT_EQ(refuse(unknown).message(),
            "command 'wobble_node' is of kind 'wobble', which this version has "
            "no CUDA code for");
  TestCommand absent("kernel");
  absent.set("symbol", "sub").set("grid", int64_t(1)).set("block", int64_t(1));
  EXPECT_EQ(refuse(absent).code(), Code::Corrupt);
  EXPECT_TRUE(has(refuse(absent).message(), "no kernel 'sub' in it"));
  TestCommand wide("kernel");
  wide.set("symbol", "add").set("grid", int64_t(1)).set("block", int64_t(2048));
  EXPECT_EQ(refuse(wide).message(),
            "kernel 'kernel_node': block is 2048, expected 1 to 1024");
  TestCommand greedy("kernel");
  greedy.set("symbol", "add").set("grid", int64_t(1)).set("block", int64_t(1));
  greedy.set("shared", int64_t(1) << 20);
  EXPECT_EQ(refuse(greedy).code(), Code::Incompatible);
  TestCommand overlap("copy");
  overlap.in(memory, {4}).out(memory + 8, {4});
  EXPECT_EQ(refuse(overlap).message(), "copy 'copy_node': its buffers overlap");
}

// Files of kernels in a folder that is an artifact.
class CudaKernels : public Cuda {
protected:
  void list() { // what is in the folder now, in its manifest
    std::filesystem::remove(path("manifest.json"));
    ASSERT_TRUE(writeManifest(path(""), {{"format", kArtifactFormat},
                                         {"version", kArtifactVersion}})
                    .ok());
  }
  Status load(CudaDevice &device) {
    DLC_ASSIGN(const KernelFiles files, KernelFiles::ofFolder(path("")));
    return device.loadKernels(files);
  }
  // The head of machine code as ptxas 13 writes it: no kernels, which matters
  // to no driver that refuses it.
  void writeCubin(const std::string &name, int sm) {
    std::string head(64, '\0');
    head.replace(0, 9,
                 std::string("\x7f"
                             "ELF\2\1\1\x41\x08",
                             9));
    head[0x31] = static_cast<char>(sm); // of the flags
    write(name, head);
  }
};

TEST_F(CudaKernels, ForAnotherGpuAreRefused) {
  auto device = open();
  const auto load = [&] { return this->load(*device); };
  write("kernels.sm_80.cubin", "x");
  write("kernels.sm_100.ptx", kPtx); // newer than the GPU
  list();
  write("kernels.sm_90.cubin", kPtx); // not in the manifest
  const Status status = load();
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_TRUE(
      has(status.message(),
          "has kernels.sm_100.ptx, kernels.sm_80.cubin, but nothing for "
          "Stand-in GPU (sm_90): compile again for "
          "sm_90"));
  write("kernels.sm_86.ptx", kPtx); // older: the driver compiles it
  list();
  EXPECT_TRUE(load().ok());
  write("kernels.sm_90.cubin", "another");
  EXPECT_EQ(load().code(), Code::Corrupt);
  EXPECT_TRUE(has(device->loadKernels(write("k.ptx", "no kernel")).message(),
                  "on Stand-in GPU (sm_90, driver for CUDA 13.0): "
                  "CUDA_ERROR_INVALID_IMAGE"));
}

TEST_F(CudaKernels, OfANewerAssemblerAreCompiledByTheDriver) {
  Environment old("DLC_STANDIN_DRIVER_VERSION", "12080");
  auto device = open();
  writeCubin("kernels.sm_90.cubin", 90);
  list();
  Status status = load(*device);
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_TRUE(has(status.message(), "kernels.sm_90.cubin' on Stand-in GPU "
                                    "(sm_90, driver for CUDA 12.8): "
                                    "CUDA_ERROR_INVALID_IMAGE"))
      << status.message();
  EXPECT_TRUE(
      has(status.message(), "\nupdate the driver, or compile again for sm_90"));
  write("kernels.sm_90.ptx", ".version 9.0\n.target sm_90\n");
  list();
  status = load(*device);
  EXPECT_TRUE(has(status.message(), "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
  EXPECT_TRUE(has(status.message(), "\nptxas fatal : Unsupported .version 9.0; "
                                    "current version is '8.7'"))
      << status.message();
  write("kernels.sm_80.ptx", kPtx); // of an older SM, and an older version
  list();
  testing::internal::CaptureStderr();
  status = load(*device);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(has(testing::internal::GetCapturedStderr(),
                  "the driver compiles kernels.sm_80.ptx instead"));
}

TEST_F(CudaKernels, OfAnotherSmAreNotTaken) {
  auto device = open();
  writeCubin("kernels.sm_90.cubin", 80);
  list();
  const Status status = load(*device);
  EXPECT_TRUE(has(status.message(), "CUDA_ERROR_NO_BINARY_FOR_GPU"))
      << status.message();
}

// Kernels with memory and a limit of threads of their own.
TEST_F(CudaKernels, FitTheirLaunches) {
  auto device = open();
  std::byte *const memory = *device->allocate(4096, "scratch");
  const auto kernel = [&](const char *name, const char *limits, int shared) {
    return fmt::format(".visible .entry {}(.param .u64 a, .param .u64 b, "
                       ".param .u64 y) {}\n{{\n.shared .align 4 .b8 "
                       "own[{}];\nret;\n}}\n",
                       name, limits, shared);
  };
  for (const char *name : {"narrow", "large"})
    standin_->registerKernel(name, addOnHost, addAccesses);
  const Status loaded = device->loadKernels(
      write("kernels.ptx", ".version 8.0\n.target sm_80\n" +
                               kernel("narrow", ".maxntid 128", 4) +
                               kernel("large", "", 40 << 10)));
  ASSERT_TRUE(loaded.ok()) << loaded.message();
  const auto run = [&](const char *name, int64_t block,
                       int64_t shared) -> Status {
    TestCommand command("kernel");
    command.in(memory, {256}).in(memory, {256}).out(memory + 1024, {256});
    command.set("symbol", name).set("grid", 256 / block).set("block", block);
    command.set("shared", shared);
    const CommandSpec spec = command.spec();
    DLC_ASSIGN(auto bound, device->bind(spec));
    DLC_TRY(bound->enqueue());
    return device->synchronize();
  };
  EXPECT_TRUE(run("narrow", 128, 0).ok());
  EXPECT_EQ(run("narrow", 256, 0).message(),
            "kernel 'kernel_node': kernel 'narrow': block is 256, but it was "
            "compiled for at most 128 threads on Stand-in GPU");
  EXPECT_TRUE(run("large", 256, 8 << 10).ok());
  // Together more than a block has without consent, which is asked for.
  const Status both = run("large", 256, 12 << 10);
  EXPECT_TRUE(both.ok()) << both.message();
  const Status greedy = run("large", 256, 200 << 10);
  EXPECT_EQ(greedy.code(), Code::Incompatible);
  EXPECT_EQ(greedy.message(),
            "kernel 'kernel_node': kernel 'large': wants 245760 bytes of "
            "shared memory for a block, 40960 of its own and 204800 more, "
            "Stand-in GPU has 232448");
}

TEST_F(Cuda, LibrariesForANewerCudaAreRefused) {
  Environment old("DLC_STANDIN_DRIVER_VERSION", "12080");
  auto device = open();
  const std::string update = " is for CUDA 13, but the driver for CUDA 12.8: "
                             "update the driver to one for CUDA 13.0 or newer";
  const Status blas = device->libraries().cublasLt().status();
  EXPECT_EQ(blas.code(), Code::Incompatible);
  EXPECT_EQ(blas.message(), "cuBLASLt" + update) << "12's is never loaded";
  const Status cudnn = device->libraries().cudnn().status();
  EXPECT_EQ(cudnn.code(), Code::Incompatible);
  EXPECT_TRUE(has(cudnn.message(), "libcudnn.so.9" + update +
                                       ", or install the library for CUDA "
                                       "12"));
  Environment twelve("DLC_STANDIN_CUDNN_CUDA", "12090"); // of the same major
  device = open();
  EXPECT_TRUE(device->libraries().cudnn().ok());
}

} // namespace
