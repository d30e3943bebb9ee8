// SPDX-License-Identifier: Apache-2.0
// dlc-import MODEL.onnx: prints the dlc module that the importer makes.
// Exit codes: 0 imported, 2 usage, 3 bad model, 6 out of memory.
#include "compiler/import/Importer.h"
#include "compiler/import/Support.h"
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/tensor/ShapeMath.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Log.h"
#include "tools/process/Process.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

static cl::opt<std::string> modelPath(cl::Positional, cl::desc("MODEL.onnx"));
static cl::list<std::string>
    operators("operators", cl::CommaSeparated,
              cl::desc("say how each of these is imported, and no more"));
static cl::opt<int64_t>
    batch("batch", cl::desc("first dimension of the inputs"), cl::init(0));
static cl::list<std::string> dims("dim",
                                  cl::desc("NAME=N: a symbolic dimension"));
static cl::list<std::string> train("train", cl::desc("regular expression"));
static cl::list<std::string> freeze("freeze", cl::desc("regular expression"));
static cl::list<std::string> paddings("padding-idx", cl::desc("PARAM:ROW"));
static cl::list<std::string> dropouts("dropout",
                                      cl::desc("RATIO or REGEX:RATIO"));
static cl::opt<bool> renew("unfold-bn", cl::desc("new batch norms"));
static cl::list<std::string> renewAt("unfold-bn-at", cl::desc("REGEX"));
static cl::opt<bool> weights("weights", cl::desc("list the weight store too"));
static cl::opt<bool> roles("roles", cl::desc("say what is trained, and why"));
static cl::opt<bool> quiet("quiet", cl::desc("do not print the module"));

static int run(int argc, char **argv) try {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "prints an ONNX model as dlc\n");
  const dlc::import::HostEvaluator evaluator(
      dlc::import::Budget(dlc::import::kDefaultBudget));
  for (const std::string &op : operators)
    llvm::outs() << op << " " << dlc::import::howImported(op, [&](auto &name) {
      return evaluator.knows(name);
    }) << "\n";
  if (!operators.empty())
    return 0;
  dlc::import::ImportOptions options;
  if (batch > 0)
    options.batch = batch;
  for (const std::string &dim : dims) {
    auto [name, value] = llvm::StringRef(dim).split('=');
    if (value.getAsInteger(10, options.dims[name.str()])) {
      llvm::errs() << "dlc-import: --dim " << dim << ": expected NAME=N\n";
      return 2;
    }
  }
  options.roles.train.assign(train.begin(), train.end());
  options.roles.freeze.assign(freeze.begin(), freeze.end());
  options.dropouts.assign(dropouts.begin(), dropouts.end());
  options.renewNorms = renew;
  options.renewNormsAt.assign(renewAt.begin(), renewAt.end());
  options.paddings.assign(paddings.begin(), paddings.end());

  mlir::MLIRContext context;
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &diagnostic) {
    bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    llvm::errs() << diagnostic.getLocation()
                 << (isError ? ": error: " : ": warning: ") << diagnostic
                 << "\n";
  });
  auto model = dlc::import::importOnnx(context, modelPath, options);
  if (!model.ok())
    return int(model.status().code());
  if (!quiet)
    model->module->print(llvm::outs(),
                         mlir::OpPrintingFlags().enableDebugInfo(true, false));
  if (roles)
    for (const auto &[name, found] : model->roles)
      llvm::outs() << "role " << name << " " << int(found.role) << " "
                   << found.reason << "\n";
  if (weights)
    for (const auto &[name, weight] : model->weights.all())
      llvm::outs() << "weight " << name << " " << dlc::nameOf(weight.dtype)
                   << " " << dlc::import::toString(weight.shape) << " "
                   << weight.bytes << " bytes\n";
  return 0;
} catch (...) {
  const dlc::Status status =
      dlc::caughtException(modelPath, dlc::Code::BadModel);
  dlc::logError(status.message());
  return int(status.code());
}

int main(int argc, char **argv) {
  return dlc::process::runMain("dlc-import", [&] { return run(argc, argv); });
}
