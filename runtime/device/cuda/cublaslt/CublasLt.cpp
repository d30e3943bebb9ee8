// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cublaslt/CublasLt.h"

namespace dlc {

#define DLC_TEXT_(x) #x
#define DLC_TEXT(x) DLC_TEXT_(x)

static std::string versionText(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

Result<std::shared_ptr<const CublasLt>> CublasLt::open() {
  DLC_ASSIGN(const SharedLibrary library,
             SharedLibrary::open({"libcublasLt.so." DLC_TEXT(CUBLAS_VER_MAJOR)},
                                 "which multiplies matrices on GPUs"));
  auto lt = std::make_shared<CublasLt>();
  const std::string expected = versionText(CUBLAS_VER_MAJOR * 10000);
  decltype(&::cublasLtGetVersion) getVersion = nullptr;
  DLC_TRY(library.bind(getVersion, "cublasLtGetVersion", "unknown", expected));
  lt->version_ = getVersion();
  const std::string found = versionText(lt->version_);
#define DLC_BIND(name) DLC_TRY(library.bind(lt->name, #name, found, expected));
  DLC_CUBLASLT_FUNCTIONS(DLC_BIND)
#undef DLC_BIND
  return std::shared_ptr<const CublasLt>(std::move(lt));
}

Status CublasLt::check(cublasStatus_t result, std::string_view action) const {
  if (result == CUBLAS_STATUS_SUCCESS)
    return {};
  const Code code = result == CUBLAS_STATUS_ALLOC_FAILED ? Code::Limit
                    : result == CUBLAS_STATUS_NOT_SUPPORTED ||
                            result == CUBLAS_STATUS_ARCH_MISMATCH
                        ? Code::Incompatible
                        : Code::Failed;
  return Status(code,
                fmt::format("{}: {}: {}", action, cublasLtGetStatusName(result),
                            cublasLtGetStatusString(result)));
}

} // namespace dlc
