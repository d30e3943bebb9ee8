// SPDX-License-Identifier: Apache-2.0
// How a device chooses among a library's algorithms for a command.
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
    Heuristic, // an earlier measurement, else the library's first choice
    Benchmark  // an earlier measurement, else measures now and stores it
  };
  Mode mode = Mode::Heuristic;
  int candidates = 10;            // largest number measured for a command
  uint64_t workspace = 256 << 20; // bytes that an algorithm may use
  int flush = 4; // bytes written to flush a GPU's cache, in caches
  // Whether only algorithms with a fixed summation order are used, and none is
  // chosen by measured time.
  bool deterministic = false;
  // TF32: f32 products may round their operands to 10 bits of mantissa.
  bool tf32 = false;
  std::string cacheFolder{}; // the argument of cacheFolder()
  // Records the choices, and provides those of another rank; may be null.
  std::shared_ptr<TuneChoices> choices{};

  /// Adds rows "run.NAME"; of a run's settings only tf32 is recorded.
  void addTo(OptionTable &table);
};

} // namespace dlc
