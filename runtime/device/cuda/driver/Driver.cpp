// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/Driver.h"

#include <cudaTypedefs.h>

#include <type_traits>

namespace dlc {

constexpr int kOldest = 12000;

// The driver returns the function that had this name in that version.
#define DLC_CHECK(name, version)                                               \
  static_assert(                                                               \
      version <= kOldest &&                                                    \
          std::is_same_v<decltype(&::name), PFN_##name##_v##version>,          \
      #name " has other parameters in that version of CUDA");
DLC_DRIVER_FUNCTIONS(DLC_CHECK)
#undef DLC_CHECK

std::string cudaVersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string Driver::versionText() const { return cudaVersionText(version_); }

static Result<SharedLibrary> openLibrary() {
  return SharedLibrary::open({"libcuda.so.1", "libcuda.so"},
                             "the NVIDIA driver that running on a GPU needs");
}

bool Driver::isInstalled() { return openLibrary().ok(); }

Result<std::shared_ptr<const Driver>> Driver::open() {
  DLC_ASSIGN(const SharedLibrary library, openLibrary());
  auto driver = std::make_shared<Driver>();
  const std::string expected = cudaVersionText(kOldest);
  decltype(&::cuDriverGetVersion) getVersion = nullptr;
  DLC_TRY(library.bind(getVersion, "cuDriverGetVersion", "unknown", expected));
  getVersion(&driver->version_);
  const std::string found = driver->versionText();
  if (driver->version_ < kOldest)
    return incompatible("the driver {} is for CUDA {}, expected {} or newer: "
                        "update it",
                        library.path(), found, expected);
  decltype(&::cuGetProcAddress) getAddress = nullptr;
  DLC_TRY(library.bind(getAddress, "cuGetProcAddress_v2", found, expected));
  // The name is expanded before the headers' macros add a suffix.
  const auto bind = [&](auto &function, const char *name,
                        int version) -> Status {
    void *address = nullptr;
    CUdriverProcAddressQueryResult state = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult result = getAddress(name, &address, version,
                                       CU_GET_PROC_ADDRESS_DEFAULT, &state);
    if (result != CUDA_SUCCESS || !address)
      return library.missing(name, found, expected);
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
    return {};
  };
#define DLC_BIND(name, version) DLC_TRY(bind(driver->name, #name, version));
  DLC_DRIVER_FUNCTIONS(DLC_BIND)
#undef DLC_BIND
  DLC_TRY(driver->check(driver->cuInit(0), "cuInit"));
  return std::shared_ptr<const Driver>(std::move(driver));
}

static Code codeOf(CUresult result) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return Code::Limit;
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
  case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
  case CUDA_ERROR_NOT_SUPPORTED:
    return Code::Incompatible;
  default:
    return Code::Failed;
  }
}

Status Driver::checkLibrary(std::string_view library, size_t cuda,
                            bool isOnlyOne) const {
  const int wanted = static_cast<int>(cuda) / 1000, own = version_ / 1000;
  if (wanted <= own)
    return {};
  return incompatible("{} is for CUDA {}, but the driver for CUDA {}: update "
                      "the driver to one for CUDA {}.0 or newer{}",
                      library, wanted, versionText(), wanted,
                      isOnlyOne ? ""
                                : fmt::format(", or install the library for "
                                              "CUDA {}",
                                              own));
}

Status Driver::check(CUresult result, std::string_view action) const {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return Status(codeOf(result),
                fmt::format("{}: {}: {}", action,
                            name ? name : fmt::format("error {}", int(result)),
                            text ? text : "unknown to the driver"));
}

} // namespace dlc
