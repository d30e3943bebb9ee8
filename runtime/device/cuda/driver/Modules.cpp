#include "runtime/device/cuda/driver/Modules.h"

#include "runtime/base/Text.h"

namespace dlc {

constexpr int64_t kSharedWithoutConsent = 48 << 10;

GpuModules::~GpuModules() {
  for (CUmodule module : modules_)
    context_.driver().cuModuleUnload(module);
}

// Text must end in a zero.
Status GpuModules::loadImage(const std::string &image,
                             const std::string &path) {
  CUmodule module = nullptr;
  DLC_TRY(context_.check(
      context_.driver().cuModuleLoadData(&module, image.c_str()),
      fmt::format("cannot load '{}' on {} (sm_{}, driver for CUDA {})", path,
                  context_.properties().name, context_.properties().sm,
                  context_.driver().versionText())));
  modules_.push_back(module);
  path_ = path;
  return {};
}

// "kernels.ptx, kernels.sm_80.cubin"
static std::string kernelsIn(const KernelFiles &files) {
  std::vector<std::string> names;
  for (const std::string &name : files.names())
    names.push_back(printable(name));
  return names.empty() ? "no kernels"
                       : fmt::format("{}", fmt::join(names, ", "));
}

Status GpuModules::load(const KernelFiles &files) {
  const std::string &path = files.path();
  if (!files.isArtifact()) {
    DLC_ASSIGN(const std::string image, files.read());
    return loadImage(image, path);
  }
  if (files.names().empty())
    return {}; // said by the first command that needs one
  const int sm = context_.properties().sm;
  std::string chosen = fmt::format("kernels.sm_{}.cubin", sm);
  for (int older = sm; older > 0 && !files.has(chosen); --older)
    chosen = fmt::format("kernels.sm_{}.ptx", older);
  if (files.has(chosen)) {
    DLC_ASSIGN(const std::string image, files.read(chosen));
    return loadImage(image, path + "/" + chosen);
  }
  return incompatible("'{}' has {}, but nothing for {} (sm_{}): compile again "
                      "for sm_{}",
                      path, kernelsIn(files), context_.properties().name, sm,
                      sm);
}

Result<CUfunction> GpuModules::function(const std::string &symbol,
                                        int64_t shared) const {
  if (modules_.empty())
    return corrupt("kernel '{}': no kernels are loaded", symbol);
  CUfunction function = nullptr;
  for (CUmodule module : modules_) {
    const CUresult result = context_.driver().cuModuleGetFunction(
        &function, module, symbol.c_str());
    if (result == CUDA_ERROR_NOT_FOUND)
      continue;
    DLC_TRY(context_.check(result, symbol));
    break;
  }
  if (!function)
    return corrupt("{}: no kernel '{}' in it", path_, symbol);
  if (shared > kSharedWithoutConsent)
    DLC_TRY(context_.check(
        context_.driver().cuFuncSetAttribute(
            function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            static_cast<int>(shared)),
        fmt::format("kernel '{}': {} bytes of shared memory", symbol, shared)));
  return function;
}

} // namespace dlc
