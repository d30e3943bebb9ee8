// SPDX-License-Identifier: Apache-2.0
// A profiler for NVTX_INJECTION64_PATH: writes the ranges that begin into the
// file DLC_STANDIN_RANGES, a line each, indented by their depth.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>

namespace {

std::FILE *file() {
  static std::FILE *const file =
      std::fopen(std::getenv("DLC_STANDIN_RANGES"), "w");
  return file;
}

thread_local int depth = 0;

int push(const char *name) {
  std::fprintf(file(), "%*s%s\n", depth, "", name);
  std::fflush(file());
  return depth++;
}

int pop() { return --depth; }

} // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  const auto *callbacks = static_cast<const NvtxExportTableCallbacks *>(
      tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) ||
      size <= NVTX_CBID_CORE_RangePop)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] =
      reinterpret_cast<NvtxFunctionPointer>(&push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}
