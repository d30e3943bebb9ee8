// SPDX-License-Identifier: Apache-2.0
#include "tools/process/Process.h"

#include "llvm/Support/ErrorHandling.h"

namespace dlc::process {

static void onFailedAllocation(void *, const char *reason, bool) {
  endNow(Code::Limit, fmt::format("out of memory: {}", reason));
}

static void onFatalError(void *, const char *reason, bool) {
  endNow(Code::Failed, reason);
}

static void endWhereLlvmCannotReturn() {
  llvm::install_bad_alloc_error_handler(onFailedAllocation);
  llvm::install_fatal_error_handler(onFatalError);
  endOnFailedAllocation();
}

// Runs before the initializers of LLVM's shared libraries, which allocate, too.
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*const kBeforeLibraries)() =
    endWhereLlvmCannotReturn;

} // namespace dlc::process
