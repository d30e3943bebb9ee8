#include "compiler/driver/Kernels.h"
#include "compiler/codegen/cpu/CpuCodegen.h"
#include "compiler/codegen/cuda/CudaCodegen.h"
#include "runtime/base/Json.h"

using namespace mlir;

namespace dlc {
namespace {

const Status kFailed(Code::Failed, "the kernels cannot be compiled");

Result<CompiledKernels> forCpu(ModuleOp module, const CompileOptions &options,
                               plan::Plan &plan) {
  std::string why;
  auto target = resolveCpuTarget(options.cpu, &why);
  if (mlir::failed(target))
    return usageError("--cpu: {}", why);
  SmallVector<char> code;
  if (mlir::failed(compileKernels(module, *target, CpuCodegenOptions(), code)))
    return kFailed;
  plan.set_cpu(target->cpu);
  for (const std::string &feature : target->features)
    plan.add_cpu_features(feature);
  CompiledKernels result;
  if (!code.empty())
    result.files["kernels.so"] = {code.begin(), code.end()};
  return result;
}

/// Registers and memory of each kernel, as ptxas found them.
Json resourcesOf(const cuda::Image &image) {
  Json kernels = Json::object();
  for (const cuda::KernelResources &r : image.cubin.resources)
    kernels[r.kernel] = {{"registers", r.registers},
                         {"shared", r.shared},
                         {"stack", r.stack},
                         {"spilled", r.stores + r.loads}};
  return kernels;
}

/// Machine code for every SM, and PTX for those that are newer than the last.
Result<CompiledKernels> forCuda(ModuleOp module,
                                const CompileOptions &options) {
  std::string why;
  SmallVector<cuda::Sm> sms;
  for (const std::string &number : options.cuda.sm) {
    auto sm = cuda::findSm(number, why);
    if (mlir::failed(sm))
      return usageError("--sm: {}", why);
    sms.push_back(*sm);
  }
  llvm::sort(sms, [](auto &a, auto &b) { return a.number < b.number; });
  sms.erase(
      llvm::unique(sms, [](auto &a, auto &b) { return a.number == b.number; }),
      sms.end());
  auto toolkit = cuda::findToolkit(options.cuda.toolkit, why);
  if (mlir::failed(toolkit))
    return usageError("--target=cuda: {}", why);
  std::vector<cuda::Image> images;
  if (mlir::failed(cuda::mapLaunches(module)) ||
      mlir::failed(cuda::compileKernels(module, sms, *toolkit,
                                        cuda::CudaCodegenOptions(), images)))
    return kFailed;
  CompiledKernels result;
  Json resources = Json::object();
  for (const cuda::Image &image : images) {
    std::string name = "kernels." + image.sm.name();
    result.files[name + ".cubin"] = {image.cubin.bytes.begin(),
                                     image.cubin.bytes.end()};
    resources[image.sm.name()] = resourcesOf(image);
    if (image.sm.number == sms.back().number)
      result.files[name + ".ptx"] = image.ptx;
  }
  result.files["kernels.json"] = dumpJson(resources, 2) + "\n";
  return result;
}

} // namespace

Result<CompiledKernels> compileKernelFiles(ModuleOp module,
                                           const CompileOptions &options,
                                           plan::Plan &plan) {
  plan.set_target(options.target);
  return options.target == "cuda" ? forCuda(module, options)
                                  : forCpu(module, options, plan);
}

} // namespace dlc
