// SPDX-License-Identifier: Apache-2.0
// dlc-codegen: compiles the kernels of an exec module, for tests and to inspect
// the code of a cluster. Kernels without a schedule get one; with --sm also
// those without threads.
//   dlc-codegen x.mlir --emit=llvm|so [--cpu=native] [-O3] [--jobs=N]
//   [--cache=FOLDER] [-o FILE]
//   dlc-codegen x.mlir --sm=90 --emit=llvm|ptx|resources|cubin [-o FILE]
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/target/cpu/codegen/CpuCodegen.h"
#include "compiler/target/cuda/codegen/CudaCodegen.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "tools/process/Process.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {

cl::opt<std::string> input(cl::Positional, cl::init("-"), cl::desc("<module>"));
cl::opt<std::string> output("o", cl::init("-"), cl::desc("output file"));
cl::opt<std::string> emit("emit", cl::init("so"),
                          cl::desc("llvm or so; with --sm llvm, ptx, resources "
                                   "or cubin"));
cl::opt<std::string> sm("sm", cl::desc("for this SM instead of a CPU"));
cl::opt<std::string> cudaPath("cuda-path", cl::desc("the CUDA Toolkit"));
cl::opt<std::string> cpu("cpu", cl::init("native"),
                         cl::desc("LLVM's name of the CPU"));
cl::opt<unsigned> level("O", cl::Prefix, cl::init(3),
                        cl::desc("optimization level"));
cl::opt<unsigned> jobs("jobs", cl::init(0), cl::desc("threads"));
cl::opt<std::string> cache("cache", cl::desc("folder of compiled objects"));
cl::opt<uint64_t> cacheBytes("cache-bytes", cl::init(uint64_t(512) << 20),
                             cl::desc("its size afterwards, at most"));

LogicalResult runCuda(ModuleOp module, llvm::raw_ostream &os) {
  std::string why;
  auto target = dlc::cuda::findSm(sm, why);
  if (failed(target))
    return module.emitError(why);
  if (failed(dlc::cuda::mapThreads(module)))
    return failure();
  dlc::cuda::CudaCodegenOptions options;
  options.keepLlvm = emit == "llvm";
  options.assemble = emit == "cubin" || emit == "resources";
  auto toolkit = dlc::cuda::findToolkit(cudaPath, why);
  if (failed(toolkit) && options.assemble)
    return module.emitError(why);
  if (failed(toolkit)) // only PTX needs no toolkit
    toolkit = dlc::cuda::Toolkit();
  std::vector<dlc::cuda::Image> images;
  if (failed(dlc::cuda::compileKernels(module, *target, *toolkit, options,
                                       images)))
    return failure();
  const dlc::cuda::Image &image = images.front();
  if (emit == "llvm")
    os << image.llvm;
  else if (emit == "ptx")
    os << image.ptx;
  else if (emit == "cubin")
    os.write(image.cubin.bytes.data(), image.cubin.bytes.size());
  for (const auto &r : image.cubin.resources)
    if (emit == "resources")
      os << r.kernel << ": registers=" << r.registers << " shared=" << r.shared
         << " stack=" << r.stack << " spilled=" << r.stores + r.loads << "\n";
  return success();
}

LogicalResult run(ModuleOp module, llvm::raw_ostream &os) {
  if (failed(dlc::scheduleKernels(module)))
    return failure();
  if (!sm.empty())
    return runCuda(module, os);
  std::string why;
  auto target = dlc::resolveCpuTarget(cpu, &why);
  if (failed(target))
    return module.emitError(why);
  dlc::CpuCodegenOptions options;
  options.optLevel = level;
  options.jobs = jobs;
  options.cacheDir = cache;
  options.cacheBytes = cacheBytes;
  if (emit == "llvm")
    options.dumpLlvm = [&](llvm::StringRef text) { os << text; };
  llvm::SmallVector<char> so;
  if (failed(dlc::compileKernels(module, *target, options, so)))
    return failure();
  if (emit == "so")
    os.write(so.data(), so.size());
  return success();
}

int runTool(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv,
                              "compiles the kernels of an exec module\n");
  std::vector<std::string> known = {"llvm", "so"};
  if (!sm.empty())
    known = {"llvm", "ptx", "resources", "cubin"};
  if (!llvm::is_contained(known, emit.getValue())) {
    llvm::errs() << "expected --emit=" << llvm::join(known, ", ") << ", found '"
                 << emit << "'\n";
    return 2;
  }
  DialectRegistry registry;
  registry
      .insert<dlc::ir::DlcDialect, dlc::exec::ExecDialect, func::FuncDialect>();
  MLIRContext context(registry);
  std::string message;
  auto file = openInputFile(input, &message);
  auto out = openOutputFile(output, &message);
  if (!file || !out) {
    llvm::errs() << message << "\n";
    return 1;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module || failed(run(*module, out->os())))
    return 1;
  out->keep();
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  return dlc::process::runMain("dlc-codegen",
                               [&] { return runTool(argc, argv); });
}
