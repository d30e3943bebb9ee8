// SPDX-License-Identifier: Apache-2.0
// Faults of the driver, in processes of their own: the stand-in counts calls
// and an asynchronous error is for good.
#include "Fixture.h"
#include "runtime/collective/nccl/Nccl.h"

#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace dlc;
using namespace dlc::test;

namespace {

// Runs `body` in a child with these variables; its text comes back.
std::string inChild(std::map<std::string, std::string> variables,
                    const std::function<Status()> &body) {
  int pipe[2];
  if (::pipe(pipe) != 0)
    return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    for (const auto &[name, value] : variables)
      ::setenv(name.c_str(), value.c_str(), 1);
    const Status status = body();
    const std::string text =
        fmt::format("{} {}", static_cast<int>(status.code()), status.message());
    (void)!::write(pipe[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::string text(4096, 0);
  const ssize_t length = ::read(pipe[0], text.data(), text.size());
  text.resize(length > 0 ? static_cast<size_t>(length) : 0);
  ::close(pipe[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

Status create() { return CudaDevice::create(0).status(); }

TEST(CudaFaults, SayWhatIsMissing) {
  EXPECT_EQ(inChild({{"DLC_STANDIN_DEVICES", "0"}}, create),
            "5 cuInit: CUDA_ERROR_NO_DEVICE: an error of the stand-in driver");
  EXPECT_NE(inChild({{"DLC_STANDIN_DRIVER_VERSION", "11080"}}, create)
                .find("is for CUDA 11.8, expected 12.0 or newer: update it"),
            std::string::npos);
  EXPECT_NE(inChild({{"DLC_STANDIN_MISSING", "cuGraphLaunch"}}, create)
                .find("has no function 'cuGraphLaunch': it is version 13.0, "
                      "expected 12.0 or newer"),
            std::string::npos);
}

TEST(CudaFaults, EveryCallThatFailsIsAnError) {
  // Whatever call of the start fails: an error with CUDA's name, no crash.
  for (const char *call :
       {"cuInit:1", "cuDeviceGetCount:1", "cuDeviceGet:1", "cuDeviceGetName:1",
        "cuDeviceGetAttribute:3", "cuDeviceTotalMem:1",
        "cuDevicePrimaryCtxRetain:1", "cuCtxGetStreamPriorityRange:1",
        "cuStreamCreateWithPriority:1", "cuStreamCreateWithPriority:2",
        "cuMemHostAlloc:1", "cuEventCreate:5"})
    EXPECT_NE(
        inChild({{"DLC_STANDIN_FAIL", fmt::format("{}=719", call)}}, create)
            .find("CUDA_ERROR_LAUNCH_FAILED"),
        std::string::npos)
        << call;
}

TEST(CudaFaults, NoPinnedMemoryForActivations) {
  const auto allocate = []() -> Status {
    DLC_ASSIGN(auto device, CudaDevice::create(0));
    return device->allocateHost(uint64_t(3) << 30).status();
  };
  EXPECT_EQ(inChild({{"DLC_STANDIN_FAIL", "cuMemHostAlloc:2=2"}}, allocate),
            "6 cannot allocate 3072.0 MiB of pinned host memory for offloaded "
            "activations: CUDA_ERROR_OUT_OF_MEMORY: an error of the stand-in "
            "driver; a larger --memory, or --offload=off, needs less");
}

TEST(CudaFaults, AnOrdinalThatIsNotThere) {
  EXPECT_EQ(inChild({{"DLC_STANDIN_DEVICES", "2"}},
                    [] { return CudaDevice::create(2).status(); }),
            "2 GPU 2 was asked for, but this process sees 2; start at most one "
            "rank for each GPU, or see CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(inChild({{"DLC_STANDIN_DEVICES", "1"}},
                    [] { return CudaDevice::create(2).status(); }),
            "0 ");
}

// What the runtime never does, since libraries have handles in the context.
TEST(CudaFaults, AContextThatIsReleasedTakesItsHandlesAlong) {
  const std::string answer = inChild({}, []() -> Status {
    DLC_ASSIGN(auto device, CudaDevice::create(0));
    DLC_TRY(device->synchronize());
    void *driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    const auto release = reinterpret_cast<CUresult (*)(CUdevice)>(
        ::dlsym(driver, "cuDevicePrimaryCtxRelease_v2"));
    if (const CUresult released = release(0); released != CUDA_SUCCESS)
      return failed("not released: {}", static_cast<int>(released));
    return device->synchronize();
  });
  EXPECT_NE(answer.find("CUDA_ERROR_INVALID_CONTEXT"), std::string::npos)
      << answer;
}

// NCCL's rules for communicators that do not block, each broken once: what the
// stand-in complains about.
std::string complaint(const std::function<void(const Nccl &, ncclComm_t)> &body,
                      bool polls = true) {
  return inChild({}, [&]() -> Status {
    const int before = standin::standin()->violations();
    DLC_ASSIGN(auto device, CudaDevice::create(0));
    DLC_ASSIGN(auto nccl, Nccl::open());
    ncclUniqueId id = {};
    nccl->ncclGetUniqueId(&id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t communicator = nullptr;
    nccl->ncclCommInitRankConfig(&communicator, 1, id, 0, &config);
    ncclResult_t state = ncclInProgress;
    while (polls && state == ncclInProgress)
      nccl->ncclCommGetAsyncError(communicator, &state);
    body(*nccl, communicator);
    return standin::standin()->violations() == before
               ? Status()
               : failed("{}", standin::standin()->lastViolation());
  });
}

TEST(CudaFaults, CallsOfNcclThatDoNotBlockHaveAnOrder) {
  const auto finalize = [](const Nccl &nccl, ncclComm_t communicator) {
    nccl.ncclCommFinalize(communicator);
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress)
      nccl.ncclCommGetAsyncError(communicator, &state);
  };
  EXPECT_EQ(complaint([&](const Nccl &nccl, ncclComm_t communicator) {
              finalize(nccl, communicator);
              nccl.ncclCommDestroy(communicator);
            }),
            "0 ");
  EXPECT_EQ(complaint([](const Nccl &nccl, ncclComm_t communicator) {
              nccl.ncclCommDestroy(communicator);
            }),
            "1 ncclCommDestroy before ncclCommFinalize");
  EXPECT_EQ(complaint(
                [](const Nccl &nccl, ncclComm_t communicator) {
                  nccl.ncclCommFinalize(communicator);
                },
                false),
            "1 ncclCommFinalize while another call is in progress");
  EXPECT_EQ(complaint([&](const Nccl &nccl, ncclComm_t communicator) {
              finalize(nccl, communicator);
              float data = 0;
              nccl.ncclAllReduce(&data, &data, 1, ncclFloat32, ncclSum,
                                 communicator, nullptr);
            }),
            "1 ncclAllReduce while the communicator is finalized");
}

class CudaLaunch : public Cuda {};

TEST_F(CudaLaunch, AFailedLaunchNamesItsNode) {
  const auto body = [&]() -> Status {
    DLC_ASSIGN(auto device, CudaDevice::create(0));
    DLC_TRY(device->loadKernels(write("kernels.ptx", kPtx)));
    DLC_ASSIGN(std::byte *const memory, device->allocate(4096, "scratch"));
    TestCommand add("kernel");
    add.in(memory, {256}).in(memory, {256}).out(memory + 1024, {256});
    add.set("symbol", "add").set("grid", int64_t(1)).set("block", int64_t(256));
    const CommandSpec spec = add.spec();
    DLC_ASSIGN(auto command, device->bind(spec));
    DLC_TRY(command->enqueue());
    DLC_TRY(command->enqueue());
    return device->synchronize();
  };
  EXPECT_EQ(inChild({{"DLC_STANDIN_FAIL", "cuLaunchKernel:2=719"}}, body),
            "1 kernel 'kernel_node': CUDA_ERROR_LAUNCH_FAILED: an error of the "
            "stand-in driver");
  EXPECT_EQ(inChild({{"DLC_STANDIN_FAIL", "work:add:1=700"}}, body),
            "1 a command that was started earlier failed (DLC_SYNC=1 finds "
            "which): CUDA_ERROR_ILLEGAL_ADDRESS: an error of the stand-in "
            "driver");
}

} // namespace
