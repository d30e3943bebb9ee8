#include "runtime/device/cuda/Modules.h"

#include "runtime/base/Files.h"

#include <algorithm>
#include <filesystem>

namespace dlc {

constexpr int64_t kSharedWithoutConsent = 48 << 10;

GpuModules::~GpuModules() {
  for (CUmodule module : modules_)
    context_.driver().cuModuleUnload(module);
}

Status GpuModules::loadFile(const std::string &path) {
  // Text must end in a zero.
  DLC_ASSIGN(const std::string image, readFile(path));
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
static std::string kernelsIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored))
    if (std::string name = entry.path().filename().string();
        name.starts_with("kernels."))
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names.empty() ? "no kernels"
                       : fmt::format("{}", fmt::join(names, ", "));
}

Status GpuModules::load(const std::string &path) {
  if (!isFolder(path))
    return loadFile(path);
  const int sm = context_.properties().sm;
  const std::string exact = fmt::format("{}/kernels.sm_{}.cubin", path, sm);
  if (exists(exact))
    return loadFile(exact);
  for (int older = sm; older > 0; --older)
    if (const std::string file =
            fmt::format("{}/kernels.sm_{}.ptx", path, older);
        exists(file))
      return loadFile(file);
  return incompatible("'{}' has {}, but nothing for {} (sm_{}): compile again "
                      "for sm_{}",
                      path, kernelsIn(path), context_.properties().name, sm,
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
