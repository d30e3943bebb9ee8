// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/artifact/StepExport.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Lowered.h"
#include "compiler/export/step/StepModel.h"
#include "compiler/lower/emit/EmitPlan.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
#include "runtime/base/files/Files.h"
#include "runtime/plan/Types.h"

#include <deque>

using namespace mlir;

namespace dlc {
namespace {

constexpr char kProgram[] = "model.mlir";
constexpr size_t kMostText = size_t(2) << 30;

/// A graph is one program for one rank.
Status checkPlan(const Artifact &artifact) {
  const plan::Plan &plan = artifact.plan();
  const auto refuse = [&](std::string_view what) {
    return usageError("--step: '{}' {}", artifact.path(), what);
  };
  if (const std::string own = "dlc " + std::string(dlcVersion());
      plan.producer() != own)
    return Status(Code::Incompatible,
                  fmt::format("--step: '{}' is of {}, whose {} {} does not "
                              "read: compile the model again",
                              artifact.path(), plan.producer(), kProgram, own));
  if (llvm::none_of(plan.programs(),
                    [](auto &p) { return p.name() == "train_step"; }))
    return refuse("has no training step: it was compiled with --predict-only");
  if (plan.world_size() != 1)
    return refuse(fmt::format("trains on {} ranks by dlc.all_reduce, which "
                              "ONNX does not have: compile without --ddp",
                              plan.world_size()));
  if (plan.accumulate() != 1)
    return refuse("has two programs by --accumulate, of which a graph is one: "
                  "compile with a larger --batch instead");
  if (plan.sizes_size() > 1)
    return refuse("has programs of several sizes, of which a graph is one: "
                  "compile with one --batch and one --dim");
  return {};
}

/// Decomposes all ops with a decomposition, except scatter_add, which ONNX has.
LogicalResult decompose(ModuleOp program) {
  program.walk([](ir::PlaceableInterface op) {
    if (isa<ir::DecomposableInterface>(op.getOperation()) &&
        !isa<ir::ScatterAddOp>(op.getOperation()))
      op.setBy(ir::By::Decomposed);
  });
  PassManager passes(program.getContext());
  passes.addNestedPass<func::FuncOp>(createDecompose());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  return passes.run(program);
}

/// Adds moments, which files omit if they are zero. A schedule without a length
/// is an error, as nobody would set it.
Status complete(const exporter::StepModel &step, exporter::Tensors &states,
                std::deque<std::vector<std::byte>> &zeros) {
  for (Operation *op : step.states) {
    auto state = llvm::cast<ir::StateOp>(op);
    const std::string name = state.getSymName().str();
    auto found = states.find(name);
    if (found == states.end()) {
      auto value = dyn_cast<FloatAttr>(state.getInit());
      if (!value || !value.getValue().isPosZero())
        return corrupt("no value for state '{}'", name);
      const auto type = state.getTensorType();
      const auto &bytes = zeros.emplace_back(byteSize(type), std::byte(0));
      states[name] = {*plan::dtypeOf(planTypeOf(type.getElementType())),
                      type.getShape().vec(), bytes.data(), bytes.size()};
      continue;
    }
    const auto *data = static_cast<const std::byte *>(found->second.data);
    if (StringRef(name).starts_with("schedule.") &&
        std::all_of(data, data + found->second.bytes,
                    [](std::byte b) { return b == std::byte(0); }))
      return usageError("--step: the learning rate's schedule has no length "
                        "('{}' is 0): compile with --steps, or export a run",
                        name);
  }
  return {};
}

} // namespace

Status exportStep(const Artifact &artifact, exporter::Tensors states,
                  const std::string &path,
                  const exporter::ExportOptions &options) {
  DLC_TRY(checkPlan(artifact));
  DLC_ASSIGN(const std::string text,
             readFile(artifact.filePath(kProgram), kMostText));
  DialectRegistry registry;
  registerEverything(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  DiagnosticLog log(context);
  auto program = parseSourceString<ModuleOp>(text, &context, kProgram);
  if (!program)
    return errorOf(log, Code::Corrupt, artifact.filePath(kProgram),
                   "it does not parse");
  FailureOr<exporter::StepModel> step = failure();
  if (succeeded(decompose(*program)))
    step = exporter::makeStepModel(*program);
  if (failed(step))
    return errorOf(log, Code::BadModel, artifact.path(),
                   "the step cannot be written as ONNX");
  std::deque<std::vector<std::byte>> zeros;
  DLC_TRY(complete(*step, states, zeros).withContext(artifact.path()));
  return exporter::exportOnnx(step->skeleton, states, path, options);
}

} // namespace dlc
