// SPDX-License-Identifier: Apache-2.0
// Epilogues as cuBLASLt names them.
#pragma once

#include "runtime/device/commands/Epilogue.h"

#include <cublasLt.h>

namespace dlc {

struct LtEpilogue {
  cublasLtEpilogue_t value;
  std::string_view name; // the library's without its prefix; "": the default
};

// Incompatible for an activation that the library lacks.
Result<LtEpilogue> ltEpilogueOf(const CommandSpec &spec,
                                const Epilogue &epilogue);

} // namespace dlc
