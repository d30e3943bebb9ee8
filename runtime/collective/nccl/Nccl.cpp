// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/nccl/Nccl.h"

namespace dlc {

constexpr int kOldest = NCCL_VERSION(2, 19, 0);

static std::string textOf(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

std::string Nccl::versionText() const { return textOf(version_); }

Result<std::shared_ptr<const Nccl>> Nccl::open() {
  DLC_ASSIGN(const SharedLibrary library,
             SharedLibrary::open({"libnccl.so.2", "libnccl.so"},
                                 "which several GPUs need"));
  auto nccl = std::make_shared<Nccl>();
  const std::string expected = textOf(kOldest);
  decltype(&::ncclGetVersion) getVersion = nullptr;
  DLC_TRY(library.bind(getVersion, "ncclGetVersion", "unknown", expected));
  getVersion(&nccl->version_);
  const std::string found = nccl->versionText();
  if (nccl->version_ < kOldest)
    return incompatible("{} is version {}, expected {} or newer",
                        library.path(), found, expected);
#define DLC_BIND(name)                                                         \
  DLC_TRY(library.bind(nccl->name, #name, found, expected));
  DLC_NCCL_FUNCTIONS(DLC_BIND)
#undef DLC_BIND
  return std::shared_ptr<const Nccl>(std::move(nccl));
}

std::string Nccl::describe(ncclResult_t result, std::string_view action,
                           ncclComm_t communicator) const {
  const char *detail = ncclGetLastError(communicator);
  return fmt::format("{}: {}{}{}", action, ncclGetErrorString(result),
                     detail && *detail ? ": " : "", detail ? detail : "");
}

} // namespace dlc
