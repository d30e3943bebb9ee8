// SPDX-License-Identifier: Apache-2.0
// A fake at our interface to cuDNN: convolutions are work on a stream of the
// stand-in driver, done by the CPU backend's convolutions and plain loops of
// attention and norms. It knows four engines, proposed in this order:
//   7   needs 4 KiB of scratch
//   3   its sums have no fixed order; 8 KiB
//   12  builds, but does not start
//   5   64 MiB
// DLC_STANDIN_FAST_ENGINE is the fastest (default: 7); DLC_STANDIN_CUDNN_REFUSE
// is "blob" or "engine": what it does not take back. DLC_STANDIN_CUDNN_LACKS is
// a kind of command that it has no engine for.
#include "runtime/device/cuda/cudnn/Cudnn.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/plan/Types.h"
#include "test/pretend/libraries/Standin.h"
#include "test/pretend/libraries/cudnn/Attention.h"
#include "test/pretend/libraries/cudnn/Norm.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unistd.h>

using namespace dlc;
using namespace dlc::standin;

namespace {

constexpr useconds_t kSlowMicroseconds = 2000;

struct Engine {
  int number;
  uint64_t workspace;
  bool deterministic, starts;
};
constexpr Engine kEngines[] = {{7, 4096, true, true},
                               {3, 8192, false, true},
                               {12, 4096, true, false},
                               {5, 64 << 20, true, true}};

int fastest() {
  const char *number = std::getenv("DLC_STANDIN_FAST_ENGINE");
  return number ? std::atoi(number) : kEngines[0].number;
}

bool refuses(const char *what) {
  const char *refused = std::getenv("DLC_STANDIN_CUDNN_REFUSE");
  return refused && std::strstr(refused, what);
}

void note(const std::string &line) {
  if (const auto *driver = standin::standin())
    driver->note(line.c_str());
}

void complain(const std::string &what) {
  if (const auto *driver = standin::standin())
    driver->complain(("cuDNN: " + what).c_str());
}

struct Job {
  CommandSpec spec;
  bool isSlow;
};

Status runOnHost(CpuDevice &device, const CommandSpec &spec) {
  if (spec.command.kind().starts_with("attention"))
    return runAttention(spec);
  if (spec.command.kind().find("_norm") != std::string::npos)
    return runNorm(spec);
  DLC_ASSIGN(const auto command, device.bind(spec));
  return command->enqueue();
}

CUresult run(void *data) {
  static CpuDevice device(1); // one thread plays the GPU
  const Job &job = *static_cast<Job *>(data);
  if (job.isSlow)
    ::usleep(kSlowMicroseconds);
  const Status status = runOnHost(device, job.spec);
  if (status.ok())
    return CUDA_SUCCESS;
  std::fprintf(stderr, "stand-in cuDNN: %s\n", status.message().c_str());
  return CUDA_ERROR_LAUNCH_FAILED;
}

class Graph final : public CudnnGraph {
public:
  explicit Graph(const CommandSpec &spec) : spec_(spec) {}

  Result<std::vector<TuneEntry>> propose(const CudnnLimits &limits) override {
    note("plan cudnn " + spec_.command.kind());
    std::vector<TuneEntry> entries;
    plans_.clear();
    const char *lacking = std::getenv("DLC_STANDIN_CUDNN_LACKS");
    if (lacking && spec_.command.kind() == lacking)
      return incompatible("{}: no engine", describe(spec_));
    for (const Engine &engine : kEngines) {
      if (engine.workspace > limits.workspace ||
          (limits.deterministic && !engine.deterministic) ||
          entries.size() == static_cast<size_t>(limits.plans))
        continue;
      plans_.push_back(&engine);
      TuneEntry entry;
      entry.engine = std::to_string(engine.number);
      entry.knobs["2"] = engine.number * 10;
      entry.blob = "plan of engine " + entry.engine;
      entry.workspace = engine.workspace;
      entries.push_back(std::move(entry));
    }
    if (entries.empty())
      return incompatible("no plan");
    return entries;
  }

  Result<uint64_t> restore(const TuneEntry &entry, bool fromBlob) override {
    note(fmt::format("restore cudnn {} from {}", spec_.command.kind(),
                     fromBlob ? "blob" : "engine"));
    plans_.clear();
    for (const Engine &engine : kEngines)
      if (fromBlob
              ? entry.blob == fmt::format("plan of engine {}", engine.number)
              : entry.engine == std::to_string(engine.number) &&
                    entry.knobs.at("2") == engine.number * 10)
        plans_.push_back(&engine);
    if (plans_.empty() || refuses(fromBlob ? "blob" : "engine"))
      return incompatible("the stand-in does not take it back");
    return plans_[0]->workspace;
  }

  void keep(size_t plan) override { plans_ = {plans_.at(plan)}; }

  Status enqueue(size_t plan, std::span<std::byte *const> outputs,
                 CUdeviceptr workspace, CUstream stream) override {
    const Engine &engine = *plans_.at(plan);
    if (!engine.starts)
      return failed("engine {} does not start", engine.number);
    if (!workspace)
      return failed("no workspace");
    auto job = std::make_unique<Job>(Job{spec_, engine.number != fastest()});
    std::vector<Access> accesses;
    for (const Operand &operand : spec_.inputs)
      accesses.push_back(accessOf(operand, false));
    for (size_t i = 0; i < outputs.size(); ++i) {
      job->spec.outputs[i].data = outputs[i];
      accesses.push_back(accessOf(job->spec.outputs[i], true));
    }
    accesses.push_back(
        {reinterpret_cast<void *>(workspace), engine.workspace, true});
    std::string name = "cudnn " + spec_.command.kind();
    if (&engine != kEngines)
      name += fmt::format(" engine {}", engine.number);
    const Work work{
        name.c_str(),    run,
        job.release(),   [](void *data) { delete static_cast<Job *>(data); },
        accesses.data(), static_cast<int>(accesses.size())};
    const auto *driver = standin::standin();
    return driver && driver->enqueue(stream, work) == CUDA_SUCCESS
               ? Status()
               : failed("the stand-in driver refused it");
  }

private:
  static Access accessOf(const Operand &operand, bool writes) {
    return {operand.data, plan::bytesOf(*operand.type).value_or(0), writes};
  }
  CommandSpec spec_;
  std::vector<const Engine *> plans_;
};

class Fake final : public Cudnn {
public:
  size_t version() const override {
    const char *version = std::getenv("DLC_STANDIN_CUDNN_VERSION");
    return version ? static_cast<size_t>(std::atoll(version)) : 91900;
  }
  size_t frontendVersion() const override { return 0; }
  Result<std::unique_ptr<CudnnGraph>> convolution(const CommandSpec &spec,
                                                  const Conv &conv) override {
    if (conv.x.channelsLast && !conv.filtersLast && conv.inputs() > 1 &&
        conv.window.taps() > 1)
      complain(fmt::format("{}: images are channels last, filters are not",
                           describe(spec)));
    return std::unique_ptr<CudnnGraph>(std::make_unique<Graph>(spec));
  }
  Result<std::unique_ptr<CudnnGraph>>
  attention(const CommandSpec &spec, const Attention &a, bool) override {
    const char *sm = std::getenv("DLC_STANDIN_SM");
    const int64_t widest = sm && std::strcmp(sm, "90") != 0 ? 128 : 256;
    if (a.isBackward && std::max(a.depth, a.valueDepth) > widest)
      return incompatible("{}: no gradient for heads of more than {}",
                          describe(spec), widest);
    if (a.isBackward && a.queries == 1 && a.keys == 1)
      return incompatible("{}: no gradient for one query and one key",
                          describe(spec));
    return std::unique_ptr<CudnnGraph>(std::make_unique<Graph>(spec));
  }
  Result<std::unique_ptr<CudnnGraph>> norm(const CommandSpec &spec,
                                           const Norm &) override {
    return std::unique_ptr<CudnnGraph>(std::make_unique<Graph>(spec));
  }
};

} // namespace

extern "C" size_t cudnnGetCudartVersion() {
  const char *own = std::getenv("DLC_STANDIN_CUDNN_CUDA");
  return own ? static_cast<size_t>(std::atol(own)) : 13000;
}
extern "C" Cudnn *dlcCudnn() { return new Fake; }
