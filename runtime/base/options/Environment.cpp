// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Environment.h"

#include "runtime/base/numbers/ParseNumber.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace dlc::environment {

static std::optional<std::string> valueOf(const char *name) {
  const char *value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

static std::string textOf(const char *name) {
  return valueOf(name).value_or("");
}

std::string cacheFolder() {
  if (std::string own = textOf("DLC_CACHE_DIR"); !own.empty())
    return own;
  if (const std::string xdg = textOf("XDG_CACHE_HOME"); !xdg.empty())
    return xdg + "/dlc";
  const std::string home = textOf("HOME");
  return home.empty() ? "" : home + "/.cache/dlc";
}

std::string temporaryFolder() {
  const std::string folder = textOf("TMPDIR");
  return folder.empty() ? "/tmp" : folder;
}

std::string programFolders() { return textOf("PATH"); }

std::optional<std::string> compiler() { return valueOf("DLC_COMPILER"); }

std::optional<std::string> dataProgram() { return valueOf("DLC_DATA_PROGRAM"); }

std::optional<NamedFolder> cudaToolkit() {
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string path = textOf(name); !path.empty())
      return NamedFolder{name, path};
  return std::nullopt;
}

std::map<std::string, std::string> ncclVariables() {
  std::map<std::string, std::string> found;
  for (char **at = environ; *at; ++at) {
    const std::string_view text = *at;
    if (const size_t end = text.find('=');
        text.starts_with("NCCL_") && end != text.npos)
      found.emplace(text.substr(0, end), text.substr(end + 1));
  }
  return found;
}

std::optional<std::string> visibleGpus() {
  return valueOf("CUDA_VISIBLE_DEVICES");
}

std::optional<int> localRank() { return asNumber<int>(textOf("LOCAL_RANK")); }

bool isRank() { return std::getenv("RANK") != nullptr; }

bool setsOpenMpWait() {
  return std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY");
}

bool wantsNoColour() { return !textOf("NO_COLOR").empty(); }

bool poisonsScratch() { return textOf("DLC_POISON") == "1"; }

bool waitsForEachCommand() { return textOf("DLC_SYNC") == "1"; }

bool marksCommands() { return textOf("DLC_NVTX") == "1"; }

std::set<int64_t> infiniteSteps() {
  const std::string all = textOf("DLC_INJECT_INF");
  std::set<int64_t> steps;
  const char *text = all.c_str();
  for (char *end = nullptr; *text; text = *end ? end + 1 : end) {
    steps.insert(std::strtoll(text, &end, 10));
    if (end == text)
      break;
  }
  return steps;
}

std::optional<int> flippedRank() {
  const std::string rank = textOf("DLC_INJECT_BIT");
  return rank.empty() ? std::nullopt : std::optional(std::atoi(rank.c_str()));
}

std::string hiddenCpuFeatures() { return textOf("DLC_HIDE_CPU_FEATURES"); }

} // namespace dlc::environment
