// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/CpuFigures.h"

#include "runtime/device/TuneCache.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

namespace dlc {
namespace {

std::string modelOfCpu() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      return line.substr(std::min(line.find(": ") + 2, line.size()));
  return "unknown";
}

TuneKey keyOf(int threads) {
  TuneKey key;
  return key.add("op", "machine")
      .add("cpu", modelOfCpu())
      .add("cores", std::thread::hardware_concurrency())
      .add("threads", threads);
}

} // namespace

std::optional<CpuFigures> findCpuFigures(const std::string &folder,
                                         int threads) {
  const auto cache = TuneCache::open(folder, TuneCache::Mode::ReadOnly);
  const auto entry = cache.ok() ? cache->find(keyOf(threads)) : std::nullopt;
  if (!entry)
    return std::nullopt;
  const auto figure = [&](const char *name) {
    const auto found = entry->knobs.find(name);
    return found == entry->knobs.end() ? 0.0
                                       : static_cast<double>(found->second);
  };
  CpuFigures figures{figure("single"), figure("half"), figure("bandwidth"),
                     threads, entry->date};
  if (figures.single <= 0 || figures.bandwidth <= 0)
    return std::nullopt;
  return figures;
}

Status keepCpuFigures(const std::string &folder, const CpuFigures &figures) {
  DLC_ASSIGN(const TuneCache cache, TuneCache::open(folder));
  TuneEntry entry;
  entry.engine = "measured";
  entry.date = figures.date;
  entry.knobs = {{"single", std::llround(figures.single)},
                 {"half", std::llround(figures.half)},
                 {"bandwidth", std::llround(figures.bandwidth)}};
  return cache.store(keyOf(figures.threads), entry);
}

bool computesInBf16(const plan::Program &program,
                    const plan::Command &command) {
  if (command.kind() == "kernel" || command.inputs_size() == 0)
    return false;
  const auto id = static_cast<int>(command.inputs(0));
  return program.buffers(id).type().dtype() == plan::BF16;
}

double secondsAtMost(const CpuFigures &figures, uint64_t flops, uint64_t bytes,
                     bool inBf16) {
  const double rate =
      inBf16 && figures.half > 0 ? figures.half : figures.single;
  return std::max(static_cast<double>(flops) / rate,
                  static_cast<double>(bytes) / figures.bandwidth);
}

} // namespace dlc
