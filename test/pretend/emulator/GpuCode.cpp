// SPDX-License-Identifier: Apache-2.0
#include "GpuCode.h"
#include "Emulator.h"

#include "compiler/target/cuda/codegen/Compile.h"
#include "compiler/target/cuda/codegen/CudaCodegen.h"
#include "test/pretend/ptx/Machine.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <cstdlib>

namespace dlc::test {
namespace {

using Loaded = std::unique_ptr<GpuCode>;

Loaded loadLlvm(mlir::ModuleOp module, cuda::Sm sm, std::string &why) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto code = cuda::emitKernels(module, *context);
  auto machine = cuda::createTargetMachine(sm);
  if (!code || !machine) {
    why = "the kernels do not compile for the GPU";
    return nullptr;
  }
  cuda::optimize(*code, *machine);
  return std::make_unique<Emulator>(std::move(context), std::move(code), why);
}

Loaded loadPtx(mlir::ModuleOp module, cuda::Sm sm, std::string &why) {
  auto toolkit = cuda::findToolkit("", why);
  if (failed(toolkit)) // only libdevice needs it
    toolkit = cuda::Toolkit();
  why.clear();
  std::vector<cuda::Image> images;
  cuda::CudaCodegenOptions options;
  options.assemble = false;
  if (failed(cuda::compileKernels(module, sm, *toolkit, options, images))) {
    why = "the kernels do not compile to PTX";
    return nullptr;
  }
  return std::make_unique<ptx::Machine>(images.front().ptx, why);
}

} // namespace

Loaded loadGpuCode(mlir::ModuleOp module, const std::string &number,
                   std::string &why) {
  auto sm = cuda::findSm(number, why);
  if (failed(sm))
    return nullptr;
  const char *form = std::getenv("DLC_GPU_CODE");
  const std::string chosen = form ? form : "llvm";
  Loaded loaded;
  if (chosen == "llvm")
    loaded = loadLlvm(module, *sm, why);
  else if (chosen == "ptx")
    loaded = loadPtx(module, *sm, why);
  else
    why = "DLC_GPU_CODE is '" + chosen + "', expected llvm or ptx";
  return why.empty() ? std::move(loaded) : nullptr;
}

} // namespace dlc::test
