// SPDX-License-Identifier: Apache-2.0
// How a device chooses among the algorithms that a library has for a command.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace dlc {

class OptionTable;
class TuneChoices;

struct TuneOptions {
  enum class Mode {
    Off,       // the library's first choice
    Heuristic, // what was once measured, else the library's first choice
    Benchmark  // what was once measured, else the fastest now, which is kept
  };
  Mode mode = Mode::Heuristic;
  int candidates = 10;           // measured at most, of one command
  uint64_t workspace = 32 << 20; // bytes that an algorithm may use
  int flush = 4; // caches' worth of bytes, written to empty a GPU's
  // Only sums of a fixed order, and no choice by measured time.
  bool deterministic = false;
  // Products of f32 may round their operands to tf32: 10 bits after the point.
  bool tf32 = false;
  std::string cacheFolder; // as cacheFolder() takes it
  // Keeps what is chosen, and decides what another rank has chosen; may be
  // null.
  std::shared_ptr<TuneChoices> choices;

  /// Rows "run.NAME"; of a run's settings only tf32 is kept.
  void addTo(OptionTable &table);
};

} // namespace dlc
