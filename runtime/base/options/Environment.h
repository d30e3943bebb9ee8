// SPDX-License-Identifier: Apache-2.0
// The environment variables that dlc reads, except those of launchers
// (collective/launch). Each call reads the environment; unset variables give
// nullopt, false or the default in the comment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace dlc::environment {

// The first of DLC_CACHE_DIR, XDG_CACHE_HOME/dlc and HOME/.cache/dlc that is
// set and not empty, else empty.
std::string cacheFolder();
std::string temporaryFolder(); // TMPDIR, else /tmp
std::string programFolders();  // PATH, separated by colons; else empty

std::optional<std::string> compiler();    // DLC_COMPILER: path of dlc-compile
std::optional<std::string> dataProgram(); // DLC_DATA_PROGRAM: its path
// CUDA_HOME, else CUDA_PATH, whichever is set and not empty.
struct NamedFolder {
  std::string variable, path;
};
std::optional<NamedFolder> cudaToolkit();

// NCCL_*, in order of names.
std::map<std::string, std::string> ncclVariables();
std::optional<std::string> visibleGpus(); // CUDA_VISIBLE_DEVICES
std::optional<int> localRank(); // LOCAL_RANK, if a number; not validated
bool isRank();                  // RANK: a launcher started this process
bool setsOpenMpWait();          // GOMP_SPINCOUNT, OMP_WAIT_POLICY
bool wantsNoColour();           // NO_COLOR is not empty

// For tests and debugging. DLC_POISON=1: fills scratch memory with NaN before
// every program; DLC_SYNC=1: waits after every command, so an error names it.
bool poisonsScratch();
bool waitsForEachCommand();
bool marksCommands(); // DLC_NVTX=1: ranges for NVIDIA's profilers
// DLC_INJECT_INF=3,4,11: steps, from 1, with an infinite gradient on rank 0.
std::set<int64_t> infiniteSteps();
// DLC_INJECT_BIT=2: makes the first comparison of --check-ranks find a wrong
// bit on this rank.
std::optional<int> flippedRank();
// DLC_HIDE_CPU_FEATURES=avx512f,amx-tile: features that are treated as missing.
std::string hiddenCpuFeatures();

} // namespace dlc::environment
