// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/Modules.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"

namespace dlc {

constexpr int64_t kSharedWithoutConsent = 48 << 10;

GpuModules::~GpuModules() {
  for (CUmodule module : modules_)
    context_.driver().cuModuleUnload(module);
}

// Text must end in a zero. Errors include the driver's compiler's.
Status GpuModules::loadImage(const std::string &image,
                             const std::string &path) {
  std::string log(8192, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  CUmodule module = nullptr;
  const Status status = context_.check(
      context_.driver().cuModuleLoadDataEx(&module, image.c_str(), 2, options,
                                           values),
      fmt::format("cannot load '{}' on {} (sm_{}, driver for CUDA {})", path,
                  context_.properties().name, context_.properties().sm,
                  context_.driver().versionText()));
  log.resize(log.find('\0'));
  if (!status.ok())
    return log.empty()
               ? status
               : Status(status.code(), fmt::format("{}\n{}", status.message(),
                                                   withoutControls(log)));
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
    return {}; // the first command that needs one reports it
  const int sm = context_.properties().sm;
  std::vector<std::string> names = {fmt::format("kernels.sm_{}.cubin", sm)};
  for (int older = sm; older > 0; --older)
    names.push_back(fmt::format("kernels.sm_{}.ptx", older));
  std::erase_if(names,
                [&](const std::string &name) { return !files.has(name); });
  if (names.empty())
    return incompatible(
        "'{}' has {}, but nothing for {} (sm_{}): compile again "
        "for sm_{}",
        path, kernelsIn(files), context_.properties().name, sm, sm);
  std::string refusals;
  for (const std::string &name : names) {
    DLC_ASSIGN(const std::string image, files.read(name));
    const Status loaded = loadImage(image, path + "/" + name);
    if (loaded.ok() && !refusals.empty())
      info("{}\nthe driver compiles {} instead, at every start; it may take "
           "minutes",
           refusals, name);
    if (loaded.code() != Code::Incompatible)
      return loaded;
    refusals += (refusals.empty() ? "" : "\n") + loaded.message();
  }
  return incompatible("{}\nupdate the driver, or compile again for sm_{}",
                      refusals, sm);
}

static Result<int> attributeOf(const GpuContext &context, CUfunction function,
                               CUfunction_attribute attribute,
                               const std::string &symbol) {
  int value = 0;
  DLC_TRY(context.check(
      context.driver().cuFuncGetAttribute(&value, attribute, function),
      fmt::format("kernel '{}': cuFuncGetAttribute", symbol)));
  return value;
}

// Reports what would make a launch fail, before anything runs.
Status GpuModules::checkLaunch(CUfunction function, const std::string &symbol,
                               unsigned block, int64_t shared) const {
  const GpuProperties &gpu = context_.properties();
  DLC_ASSIGN(const int threads,
             attributeOf(context_, function,
                         CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, symbol));
  if (block > static_cast<unsigned>(threads))
    return incompatible("kernel '{}': block is {}, but it was compiled for at "
                        "most {} threads on {}",
                        symbol, block, threads, gpu.name);
  DLC_ASSIGN(const int own,
             attributeOf(context_, function,
                         CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, symbol));
  if (own + shared > gpu.sharedPerBlock)
    return incompatible("kernel '{}': wants {} bytes of shared memory for a "
                        "block, {} of its own and {} more, {} has {}",
                        symbol, own + shared, own, shared, gpu.name,
                        gpu.sharedPerBlock);
  if (own + shared <= kSharedWithoutConsent || shared == 0)
    return {};
  return context_.check(
      context_.driver().cuFuncSetAttribute(
          function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
          static_cast<int>(shared)),
      fmt::format("kernel '{}': {} bytes of shared memory", symbol, shared));
}

Result<CUfunction> GpuModules::function(const std::string &symbol,
                                        unsigned block, int64_t shared) const {
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
  DLC_TRY(checkLaunch(function, symbol, block, shared));
  return function;
}

} // namespace dlc
