// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Compiler.h"
#include "compiler/driver/Lowered.h"
#include "compiler/driver/artifact/WriteArtifact.h"
#include "compiler/driver/batch/AutoBatch.h"
#include "runtime/base/Bytes.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/plan/Artifact.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Ports.h"

using namespace mlir;

namespace dlc {
namespace {

constexpr size_t kTableRows = 15;

class Compilation {
public:
  explicit Compilation(const CompileOptions &options, bool quiet = false)
      : options(options), context(registry(), MLIRContext::Threading::DISABLED),
        log(context, quiet) {}

  Result<CompileResult> run() {
    // Reports before the work, not after it, that a path must not be replaced.
    if (options.stopAfter.empty())
      DLC_TRY(ArtifactWriter::check(options.output));
    DLC_ASSIGN(Lowered lowered, lower(options, context, log));
    if (options.stopAfter.empty()) {
      DLC_TRY(checkMemory(lowered));
      const auto start = std::chrono::steady_clock::now();
      DLC_ASSIGN(const CompiledKernels kernels, generate(lowered));
      lowered.result.kernelSeconds = secondsSince(start);
      DLC_TRY(describe(lowered));
      DLC_TRY(writeArtifact(lowered, kernels.files));
    }
    return std::move(lowered.result);
  }

  Result<uint64_t> stepBytes() {
    DLC_ASSIGN(const Lowered lowered, lower(options, context, log));
    return totalBytes(lowered.result.plan);
  }

private:
  static DialectRegistry registry() {
    DialectRegistry r;
    registerEverything(r);
    return r;
  }

  Status checkMemory(const Lowered &lowered) {
    const double budget = double(options.memory.budget),
                 bytes = double(totalBytes(lowered.result.plan));
    const auto tooMuch = [&](const std::string &way) {
      return limitExceeded("{}: a step of {} samples takes {}, {}\n{}",
                           options.model, lowered.model.batch,
                           roundBytes(bytes), way,
                           memoryTable(lowered.result.plan, kTableRows));
    };
    if (budget != 0 && bytes > budget)
      return tooMuch(fmt::format(
          "--memory allows {}; use {}a smaller --batch, with more of "
          "--accumulate",
          roundBytes(budget),
          options.memory.offload == OffloadMode::Only ? "--offload=auto, or "
                                                      : ""));
    if (bytes > double(kMaxMemory))
      return tooMuch(fmt::format("a plan can describe at most {}; use a "
                                 "smaller --batch or smaller dimensions",
                                 roundBytes(double(kMaxMemory))));
    return {};
  }

  Result<CompiledKernels> generate(Lowered &lowered) {
    const auto target = makeTarget(options.train.target);
    lowered.result.plan.set_target(target->name().str());
    auto compiled =
        target->generate(*lowered.model.module, lowered.result.plan);
    if (!compiled && compiled.status().code() == Code::Failed)
      return errorOf(log, Code::Failed, options.model,
                     compiled.status().message().c_str());
    return compiled;
  }

  /// Fills the plan's fields besides programs, and validates what train, eval
  /// and predict require of an artifact.
  Status describe(Lowered &lowered) {
    const CompileOptions &o = lowered.options;
    plan::Plan &plan = lowered.result.plan;
    plan.set_version(kPlanVersion);
    plan.set_producer("dlc " + std::string(dlcVersion()));
    plan.set_world_size(o.train.allReduce.world);
    plan.set_batch(lowered.model.batch);
    plan.mutable_sizes()->Add(lowered.sizes.begin(), lowered.sizes.end());
    plan.set_accumulate(o.train.accumulate.count);
    if (!o.predictOnly) {
      plan.set_loss(o.train.loss.kind == "auto" ? "cross_entropy"
                                                : o.train.loss.kind);
      dlc::describe(o, plan);
      plan.set_schedule_steps(o.train.schedule.totalSteps);
      describePlateau(o.train, plan);
    }
    Status status = verifyPlan(plan);
    if (status.ok())
      status = plan::checkPorts(plan);
    if (status.ok())
      return status;
    return Status(Code::BadModel,
                  fmt::format("{}: {}", options.model, status.message()));
  }

  const CompileOptions &options;
  MLIRContext context;
  DiagnosticLog log;
};

} // namespace

Result<CompileResult> compile(const CompileOptions &options) try {
  if (!options.autoBatch)
    return Compilation(options).run();
  DLC_ASSIGN(const CompileOptions sized, withLargestBatch(options));
  return Compilation(sized).run();
} catch (...) {
  return caughtException(options.model);
}

Result<uint64_t> stepBytes(const CompileOptions &options) try {
  return Compilation(options, true).stepBytes();
} catch (...) {
  return caughtException(options.model);
}

} // namespace dlc
