// dlc-codegen: compiles the kernels of an exec module, for tests and for
// reading what a cluster becomes.
//   dlc-codegen x.mlir --emit=schedule|llvm|so [--cpu=native] [-O3] [--jobs=N]
//   [--cache=FOLDER] [-o FILE]
#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/KernelSchedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {

cl::opt<std::string> input(cl::Positional, cl::init("-"), cl::desc("<module>"));
cl::opt<std::string> output("o", cl::init("-"), cl::desc("output file"));
cl::opt<std::string> emit("emit", cl::init("so"),
                          cl::desc("schedule, llvm or so"));
cl::opt<std::string> cpu("cpu", cl::init("native"),
                         cl::desc("LLVM's name of the CPU"));
cl::opt<unsigned> level("O", cl::Prefix, cl::init(3),
                        cl::desc("optimization level"));
cl::opt<unsigned> jobs("jobs", cl::init(0), cl::desc("threads"));
cl::opt<std::string> cache("cache", cl::desc("folder of compiled objects"));

void print(llvm::raw_ostream &os, llvm::StringRef name,
           llvm::ArrayRef<dlc::LoopGroup> groups) {
  os << " " << name << "=[";
  llvm::interleaveComma(groups, os,
                        [&](const dlc::LoopGroup &g) { os << g.size; });
  os << "]";
}

LogicalResult printSchedules(ModuleOp module, llvm::raw_ostream &os) {
  static const char *kinds[] = {"elementwise", "rows", "columns"};
  auto result = module.walk([&](dlc::exec::KernelOp kernel) {
    std::string why;
    auto s = dlc::analyseKernel(kernel.getBody(), &why);
    if (!s) {
      kernel.emitOpError("is not a legal cluster: ") << why;
      return WalkResult::interrupt();
    }
    os << kernel.getSymName() << ": " << kinds[s->kind]
       << " extent=" << s->extent << " grain=" << s->grain
       << " elements=" << s->elements << " flops=" << s->flops
       << " bytes=" << s->bytes;
    print(os, "outer", s->outer);
    print(os, "inner", s->inner);
    os << " block=" << s->block << "\n";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult run(ModuleOp module, llvm::raw_ostream &os) {
  if (emit == "schedule")
    return printSchedules(module, os);
  std::string why;
  auto target = dlc::resolveCpuTarget(cpu, &why);
  if (failed(target))
    return module.emitError(why);
  dlc::CpuCodegenOptions options;
  options.optLevel = level;
  options.jobs = jobs;
  options.cacheDir = cache;
  if (emit == "llvm")
    options.dumpLlvm = [&](llvm::StringRef text) { os << text; };
  llvm::SmallVector<char> so;
  if (failed(dlc::compileKernels(module, *target, options, so)))
    return failure();
  if (emit == "so")
    os.write(so.data(), so.size());
  return success();
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv,
                              "compiles the kernels of an exec module\n");
  if (emit != "schedule" && emit != "llvm" && emit != "so") {
    llvm::errs() << "expected --emit=schedule, llvm or so, found '" << emit
                 << "'\n";
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
