// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Environment.h"
#include "runtime/plan/Artifact.h"

#include <set>

namespace dlc {
namespace {

// Features of this CPU that generated kernels may need, by LLVM's names.
std::set<std::string, std::less<>> hostFeatures() {
  std::set<std::string, std::less<>> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
#define DLC_FEATURE(name)                                                      \
  if (__builtin_cpu_supports(name))                                            \
    found.insert(name);
  DLC_FEATURE("sse")
  DLC_FEATURE("sse2")
  DLC_FEATURE("sse3")
  DLC_FEATURE("ssse3")
  DLC_FEATURE("sse4.1")
  DLC_FEATURE("sse4.2")
  DLC_FEATURE("popcnt")
  DLC_FEATURE("avx")
  DLC_FEATURE("f16c")
  DLC_FEATURE("fma")
  DLC_FEATURE("avx2")
  DLC_FEATURE("bmi")
  DLC_FEATURE("bmi2")
  DLC_FEATURE("lzcnt")
  DLC_FEATURE("movbe")
  DLC_FEATURE("aes")
  DLC_FEATURE("vaes")
  DLC_FEATURE("gfni")
  DLC_FEATURE("vpclmulqdq")
  DLC_FEATURE("avxvnni")
  DLC_FEATURE("avx512f")
  DLC_FEATURE("avx512cd")
  DLC_FEATURE("avx512bw")
  DLC_FEATURE("avx512dq")
  DLC_FEATURE("avx512vl")
  DLC_FEATURE("avx512ifma")
  DLC_FEATURE("avx512vbmi")
  DLC_FEATURE("avx512vbmi2")
  DLC_FEATURE("avx512vnni")
  DLC_FEATURE("avx512bitalg")
  DLC_FEATURE("avx512vpopcntdq")
  DLC_FEATURE("avx512bf16")
  DLC_FEATURE("avx512fp16")
  DLC_FEATURE("amx-tile")
  DLC_FEATURE("amx-int8")
  DLC_FEATURE("amx-bf16")
#undef DLC_FEATURE
#endif
  return found;
}

void hide(std::set<std::string, std::less<>> &features, std::string_view list) {
  while (!list.empty()) {
    size_t comma = std::min(list.find(','), list.size());
    features.erase(std::string(list.substr(0, comma)));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

} // namespace

Status checkCpuFeatures(const plan::Plan &plan, const std::string &command) {
  auto features = hostFeatures();
  hide(features, environment::hiddenCpuFeatures());
  std::string missing;
  for (const std::string &needed : plan.cpu_features())
    if (!features.contains(needed))
      missing += (missing.empty() ? "" : ", ") + needed;
  if (missing.empty())
    return {};
  return incompatible("compiled for CPU '{}'; this one has no {}: compile it "
                      "again here with: {}",
                      plan.cpu(), missing, command);
}

} // namespace dlc
