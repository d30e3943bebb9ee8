// SPDX-License-Identifier: Apache-2.0
// NCCL as a table of functions, opened at run time.
#pragma once

#include "runtime/base/process/SharedLibrary.h"

#include <nccl.h>

#include <memory>

namespace dlc {

#define DLC_NCCL_FUNCTIONS(F)                                                  \
  F(ncclGetErrorString)                                                        \
  F(ncclGetLastError)                                                          \
  F(ncclGetUniqueId)                                                           \
  F(ncclCommInitRankConfig)                                                    \
  F(ncclCommGetAsyncError)                                                     \
  F(ncclCommFinalize)                                                          \
  F(ncclCommDestroy)                                                           \
  F(ncclCommAbort)                                                             \
  F(ncclAllReduce)                                                             \
  F(ncclReduceScatter)                                                         \
  F(ncclAllGather)                                                             \
  F(ncclReduce)                                                                \
  F(ncclBroadcast)                                                             \
  F(ncclGroupStart)                                                            \
  F(ncclGroupEnd)

struct NcclFunctions {
#define DLC_FIELD(name) decltype(&::name) name = nullptr;
  DLC_NCCL_FUNCTIONS(DLC_FIELD)
#undef DLC_FIELD
};

class Nccl : public NcclFunctions {
public:
  // Opens libnccl.so.2. Code::Incompatible when there is none, it is older than
  // 2.19 or lacks a function.
  static Result<std::shared_ptr<const Nccl>> open();

  int version() const { return version_; } // 22809 for 2.28.9
  std::string versionText() const;

  // "<action>: NCCL's text: details"; `communicator` may be null.
  std::string describe(ncclResult_t result, std::string_view action,
                       ncclComm_t communicator) const;

private:
  int version_ = 0;
};

} // namespace dlc
