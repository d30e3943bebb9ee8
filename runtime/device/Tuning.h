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
    Heuristic, // what was once measured, else the library's first choice
    Benchmark  // what was once measured, else the fastest now, which is kept
  };
  Mode mode = Mode::Heuristic;
  int candidates = 10;            // measured at most, of one command
  uint64_t workspace = 256 << 20; // bytes that an algorithm may use
  int flush = 4; // caches' worth of bytes, written to empty a GPU's
  // Only algorithms with a fixed order of sums, not chosen by measured time.
  bool deterministic = false;
  // TF32: f32 products may round their operands to 10 bits of mantissa.
  bool tf32 = false;
  std::string cacheFolder{}; // as cacheFolder() takes it
  // Records the choices, and provides those of another rank; may be null.
  std::shared_ptr<TuneChoices> choices{};

  /// Rows "run.NAME"; of a run's settings only tf32 is kept.
  void addTo(OptionTable &table);
};

} // namespace dlc
