// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cudnn/CudnnCommand.h"
#include "runtime/base/process/Log.h"
#include "runtime/device/Operands.h"
#include "runtime/device/cuda/Kinds.h"
#include "runtime/plan/Attributes.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dlc {
namespace {

uint64_t sizeOf(const Operand &operand) {
  return static_cast<uint64_t>(bytes(operand));
}

// The largest power of two, at most 256, that divides an address.
uint64_t alignmentOf(const Operand &operand) {
  const auto bits = reinterpret_cast<uintptr_t>(operand.data) | 256;
  return bits & -bits;
}

// All parameters of the command that the library gets.
TuneKey keyOf(const CudaDevice &device, const CommandSpec &spec,
              const Cudnn &cudnn) {
  TuneKey key = device.tuner().key();
  key.add("op", spec.command.kind())
      .add("cudnn", cudnn.version())
      .add("cudnn_frontend", cudnn.frontendVersion());
  const auto add = [&](char prefix, const std::vector<Operand> &operands) {
    for (size_t i = 0; i < operands.size(); ++i)
      key.add(fmt::format("{}{}", prefix, i),
              {{"dims", shapeOf(operands[i])},
               {"dtype", static_cast<int>(typeOf(operands[i]))},
               {"alignment", alignmentOf(operands[i])}});
  };
  add('x', spec.inputs);
  add('y', spec.outputs);
  for (const plan::Attribute &attribute : spec.command.attributes())
    key.add("attribute." + attribute.name(), plan::valueText(attribute));
  return key;
}

class CudnnCommand final : public Command {
public:
  CudnnCommand(CudaDevice &device, const CommandSpec &spec,
               std::unique_ptr<CudnnGraph> graph)
      : device_(device), name_(describe(spec)), graph_(std::move(graph)) {
    for (const Operand &output : spec.outputs)
      outputs_.push_back(output.data);
  }

  Status choose(const TuneKey &key, std::span<const Operand> outputs) {
    const Tuner &tuner = device_.tuner();
    if (const auto entry = tuner.find(key, name_)) {
      const Status status = restore(*entry);
      if (status.ok())
        return status;
      warning("{}: the plan that was measured cannot be used: {}; cuDNN "
              "chooses again",
              name_, status.message());
    }
    DLC_ASSIGN(const std::vector<TuneEntry> plans, propose(tuner));
    size_t best = 0;
    if (plans.size() > 1) {
      DLC_ASSIGN(best, measure(key, plans, outputs));
    }
    graph_->keep(best);
    return reserve(plans[best].workspace);
  }

  Status enqueue() override { return start(0, outputs_); }

private:
  // Plans within the limit of scratch memory, if there are any.
  Result<std::vector<TuneEntry>> propose(const Tuner &tuner) {
    const TuneOptions &options = tuner.options();
    CudnnLimits limits{options.workspace, options.deterministic, options.tf32,
                       tuner.measures() ? options.candidates : 1};
    auto plans = graph_->propose(limits);
    if (plans.status().code() != Code::Incompatible)
      return plans;
    limits.workspace = std::numeric_limits<int64_t>::max();
    limits.plans = 1;
    auto larger = graph_->propose(limits);
    if (!larger.ok())
      return plans;
    warning("{}: cuDNN{} wants {:.1f} MiB of scratch memory, more than "
            "--workspace-mb={}",
            name_, options.deterministic ? ", deterministic," : "",
            static_cast<double>(larger->front().workspace) / (1 << 20),
            options.workspace >> 20);
    return larger;
  }
  Status reserve(uint64_t workspace) {
    return device_.memoryPool().reserveWorkspace(workspace);
  }

  Status restore(const TuneEntry &entry) {
    if (!entry.blob.empty()) {
      const auto workspace = graph_->restore(entry, true);
      if (workspace.ok())
        return reserve(*workspace);
      info("{}: cuDNN does not take its plan back: {}; it builds engine {} "
           "again",
           name_, workspace.status().message(), entry.engine);
    }
    DLC_ASSIGN(const uint64_t workspace, graph_->restore(entry, false));
    return reserve(workspace);
  }

  Result<size_t> measure(const TuneKey &key, std::span<const TuneEntry> plans,
                         std::span<const Operand> outputs) {
    uint64_t bytes = 0;
    for (const Operand &output : outputs)
      bytes += alignedBytes(sizeOf(output));
    DLC_ASSIGN(const std::vector<size_t> fitting, reserveForMost(plans));
    std::vector<Candidate> candidates;
    for (const size_t i : fitting)
      candidates.push_back({plans[i], [this, i, outputs](CUdeviceptr draft) {
                              std::vector<std::byte *> instead;
                              auto *at = reinterpret_cast<std::byte *>(draft);
                              for (const Operand &output : outputs) {
                                instead.push_back(at);
                                at += alignedBytes(sizeOf(output));
                              }
                              return start(i, instead);
                            }});
    DLC_ASSIGN(const size_t best,
               device_.tuner().measure(key, name_, bytes, candidates));
    return fitting[best];
  }

  // Reserves scratch for the plans; drops those that need most until the GPU
  // has enough.
  Result<std::vector<size_t>> reserveForMost(std::span<const TuneEntry> plans) {
    std::vector<size_t> fitting(plans.size());
    std::iota(fitting.begin(), fitting.end(), size_t(0));
    for (;;) {
      uint64_t most = 0;
      for (const size_t i : fitting)
        most = std::max(most, plans[i].workspace);
      const Status status = reserve(most);
      if (status.ok())
        return fitting;
      std::erase_if(fitting,
                    [&](size_t i) { return plans[i].workspace == most; });
      if (status.code() != Code::Limit || fitting.empty())
        return status;
    }
  }

  Status start(size_t plan, std::span<std::byte *const> outputs) {
    return graph_
        ->enqueue(plan, outputs, device_.memoryPool().workspace(),
                  device_.context().compute())
        .withContext(name_);
  }

  CudaDevice &device_;
  std::string name_;
  std::unique_ptr<CudnnGraph> graph_;
  std::vector<std::byte *> outputs_;
};

} // namespace

Result<std::unique_ptr<Command>> bindCudnn(CudaDevice &device,
                                           const CommandSpec &spec,
                                           const Cudnn &cudnn,
                                           std::unique_ptr<CudnnGraph> graph) {
  auto command = std::make_unique<CudnnCommand>(device, spec, std::move(graph));
  DLC_TRY(command->choose(keyOf(device, spec, cudnn), spec.outputs));
  return std::unique_ptr<Command>(std::move(command));
}

} // namespace dlc
