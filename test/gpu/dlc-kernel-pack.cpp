// SPDX-License-Identifier: Apache-2.0
// dlc-kernel-pack: generated kernels and what to judge them by, as a folder
// that needs no compiler where it is used (gpu-kernels).
//   dlc-kernel-pack MODULE.mlir FOLDER [SM] [MOST_ELEMENTS]
//   dlc-kernel-pack patterns FOLDER [SM]     a folder in it for each pattern
//   dlc-kernel-pack ops:TYPE:FILE.mlir FOLDER [SM]    a file of test/ops
//   dlc-kernel-pack attention FOLDER [SM]    as test/device/AttentionCases.h
//   dlc-kernel-pack matrix:ROWSxCOLUMNS FOLDER [SM]   to be timed
//
// A pack holds kernels.sm_N.cubin and .ptx; cpu.so, the CPU backend's form of
// the same kernels; host.so, with which test/pretend/libraries plays them;
// kernels.json, a table of those whose arrays have at most MOST_ELEMENTS
// elements.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/kernel/AttentionKernel.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/emit/EmitPlan.h"
#include "compiler/target/cpu/codegen/CpuCodegen.h"
#include "compiler/target/cuda/codegen/CudaCodegen.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/base/Json.h"
#include "runtime/plan/Artifact.h"
#include "runtime/plan/Types.h"
#include "test/gpu/Ops.h"
#include "test/pretend/emulator/AttentionKernels.h"
#include "test/pretend/emulator/HostKernels.h"
#include "test/pretend/emulator/Patterns.h"

#include <cstdio>
#include <filesystem>
#include <fmt/ranges.h>

using namespace dlc;

namespace {

Json elementsOf(mlir::ValueRange values) {
  Json list = Json::array();
  for (mlir::Value v : values) {
    auto type = ir::tensorType(v);
    const auto dtype = plan::dtypeOf(planTypeOf(type.getElementType()));
    list.push_back(
        {{"type", nameOf(*dtype)}, {"count", type.getNumElements()}});
  }
  return list;
}

bool isSmall(const Json &kernel, int64_t most) {
  for (const char *side : {"inputs", "outputs"})
    for (const Json &array : kernel[side])
      if (array["count"].get<int64_t>() > most)
        return false;
  return true;
}

/// What plain loops must know of it; null if the body is none, or not its own
/// operands in their order.
Json attentionEntry(mlir::Region &body) {
  mlir::Operation *op = attentionOf(body);
  if (!op || !llvm::equal(op->getOperands(), body.getArguments()))
    return nullptr;
  const bool isBackward = llvm::isa<ir::AttentionBackwardOp>(op);
  const mlir::StringRef layout =
      isBackward ? llvm::cast<ir::AttentionBackwardOp>(op).getLayout()
                 : llvm::cast<ir::AttentionOp>(op).getLayout();
  const auto d = ir::AttentionDims::of(op);
  std::vector<int64_t> mask(4, 0);
  if (op->getNumOperands() == (isBackward ? 7u : 4u))
    mask = ir::tensorType(body.getArguments().back()).getShape().vec();
  const std::vector<std::string> names =
      isBackward ? std::vector<std::string>{"dq", "dk", "dv"}
                 : std::vector<std::string>{"y", "lse"};
  Json results = Json::array();
  for (mlir::Value v : body.front().getTerminator()->getOperands())
    results.push_back(names[llvm::cast<mlir::OpResult>(v).getResultNumber()]);
  return {
      {"sizes", {d.batch, d.heads, d.queries, d.keys, d.depth, d.valueDepth}},
      {"causal", d.causal},
      {"length_first", layout == "bthd"},
      {"scale", op->getAttrOfType<mlir::FloatAttr>("scale").getValueAsDouble()},
      {"mask", mask},
      {"results", results}};
}

/// Integers of inputs are below `below`: they may be indices.
Result<Json> tableOf(mlir::ModuleOp module, int64_t most, int64_t below) {
  Json kernels = Json::array();
  for (auto op : module.getOps<exec::KernelOp>()) {
    Json kernel = {
        {"name", op.getSymName().str()},
        {"below", below},
        {"inputs", elementsOf(op.getBody().getArguments())},
        {"outputs",
         elementsOf(op.getBody().front().getTerminator()->getOperands())}};
    const exec::Threads &threads = op.getThreadsAttr().getValue();
    kernel["grid"] = threads.grid;
    kernel["block"] = threads.block;
    kernel["extent"] = op.getScheduleAttr().getValue().extent();
    if (attentionOf(op.getBody())) {
      kernel["extent"] = 0;
      kernel["attention"] = attentionEntry(op.getBody());
      if (kernel["attention"].is_null())
        return failed("{}: attention among other ops", op.getSymName().str());
      for (Json &output : kernel["outputs"])
        if (output["type"] != "f32")
          output["through"] = output["type"];
    } else {
      std::string why;
      auto graph = KernelGraph::build(op.getBody(), why);
      if (!graph)
        return failed("{}: {}", op.getSymName().str(), why);
      if (graph->contraction.op)
        for (Json &output : kernel["outputs"])
          output["through"] =
              elementsOf(graph->contraction.op->getResults())[0]["type"];
    }
    for (auto put : op.getBody().front().getOps<ir::PutRowsOp>())
      kernel["inputs"][llvm::cast<mlir::BlockArgument>(put.getRows())
                           .getArgNumber()]["rows"] =
          ir::tensorType(put.getX()).getDimSize(0);
    if (isSmall(kernel, most))
      kernels.push_back(std::move(kernel));
  }
  return kernels;
}

Status pack(mlir::ModuleOp module, const std::string &folder,
            const std::string &number, int64_t most, int64_t below) {
  std::string why;
  auto sm = cuda::findSm(number, why);
  auto toolkit = cuda::findToolkit("", why);
  // Any x86-64 of the last ten years.
  auto cpu = resolveCpuTarget("x86-64-v3", &why);
  if (mlir::failed(sm) || mlir::failed(toolkit) || mlir::failed(cpu))
    return failed("{}", why);
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::filesystem::remove(folder + "/manifest.json", ignored);
  if (mlir::failed(scheduleKernels(module)) ||
      mlir::failed(cuda::mapThreads(module)))
    return failed("the kernels cannot be mapped");
  DLC_ASSIGN(const Json table, tableOf(module, most, below));
  DLC_TRY(writeFileAtomically(folder + "/kernels.json", dumpJson(table)));

  llvm::SmallVector<char> library;
  mlir::OwningOpRef<mlir::ModuleOp> forCpu = module.clone();
  for (auto op : llvm::make_early_inc_range(forCpu->getOps<exec::KernelOp>()))
    if (attentionOf(op.getBody()))
      op.erase(); // the CPU has no such kernel
  if (mlir::failed(compileKernels(*forCpu, *cpu, CpuCodegenOptions(), library)))
    return failed("the kernels do not compile for the CPU");
  DLC_TRY(writeFileAtomically(folder + "/cpu.so",
                              {library.data(), library.size()}));
  std::vector<cuda::Image> images;
  if (mlir::failed(cuda::compileKernels(module, {*sm}, *toolkit,
                                        cuda::CudaCodegenOptions(), images)))
    return failed("the kernels do not compile for the GPU");
  for (const cuda::Image &image : images) {
    const std::string path = folder + "/kernels." + image.sm.name();
    DLC_TRY(writeFileAtomically(
        path + ".cubin", {image.cubin.bytes.data(), image.cubin.bytes.size()}));
    DLC_TRY(writeFileAtomically(path + ".ptx", image.ptx));
  }
  why = test::writeHostKernels(module, number, folder + "/host.so");
  if (!why.empty())
    return failed("{}", why);
  return writeManifest(folder, {{"format", kArtifactFormat},
                                {"version", kArtifactVersion}})
      .status();
}

Status packFile(mlir::OwningOpRef<mlir::ModuleOp> module,
                const std::string &folder, const std::string &sm, int64_t most,
                int64_t below = 7) {
  if (!module)
    return failed("{}: the module cannot be parsed", folder);
  // gpu-kernels runs whole kernels: a part's has one more argument, its count;
  // the CPU, with which it compares, has no kernels of parts.
  for (auto kernel :
       llvm::make_early_inc_range(module->getOps<exec::KernelOp>()))
    if (kernel.getParted() || partsOf(kernel.getBody()) > 1)
      kernel.erase();
  if (module->getOps<exec::KernelOp>().empty())
    return {};
  return pack(*module, folder, sm, most, below);
}

Status run(int argc, char **argv) {
  mlir::DialectRegistry registry;
  test::registerOps(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  const std::string what = argv[1], folder = argv[2],
                    sm = argc > 3 ? argv[3] : "90";
  const auto packText = [&](const test::PatternModule &pattern,
                            const std::string &to) {
    return packFile(
        mlir::parseSourceString<mlir::ModuleOp>(pattern.text, &context), to, sm,
        INT64_MAX);
  };
  long rows = 0, columns = 0;
  if (std::sscanf(what.c_str(), "matrix:%ldx%ld", &rows, &columns) == 2)
    return packText(test::matrixModule(rows, columns), folder);
  if (what == "attention")
    return packText(test::attentionModule(), folder);
  if (what.starts_with("ops:")) {
    const size_t colon = what.find(':', 4);
    auto ops = test::opsModule(what.substr(colon + 1),
                               what.substr(4, colon - 4), context);
    if (!ops.leftOut.empty())
      return failed("{}: of these functions nothing can be made: {}", what,
                    fmt::join(ops.leftOut, ", "));
    return packFile(std::move(ops.kernels), folder, sm, INT64_MAX, 2);
  }
  if (what != "patterns")
    return packFile(mlir::parseSourceFile<mlir::ModuleOp>(what, &context),
                    folder, sm, argc > 4 ? std::atoll(argv[4]) : INT64_MAX);
  for (const test::PatternModule &pattern : test::patternModules())
    DLC_TRY(packText(pattern, folder + "/" + pattern.name));
  return {};
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: dlc-kernel-pack MODULE|patterns FOLDER [SM] "
                       "[MOST_ELEMENTS]\n");
    return 2;
  }
  const Status status = run(argc, argv);
  if (!status.ok())
    fmt::print(stderr, "{}\n", status.message());
  return static_cast<int>(status.code());
}
