// SPDX-License-Identifier: Apache-2.0
// Winograd convolutions (WinogradLoops.h) on the thread pool; results do not
// depend on the number of threads.
#pragma once

#include "runtime/device/commands/Conv.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cpu/winograd/WinogradLoops.h"

namespace dlc {

class CpuDevice;

// Computes y from x, or dx from dy.
class WinogradForward {
public:
  WinogradForward(const WinogradConv &conv, const WinogradLoops &loops,
                  const Threads &threads);

  int64_t floats() const; // of scratch
  // bias: null, or one element per channel of y. Scratch must be aligned to a
  // cache line.
  void run(const void *x, const void *w, const void *bias, void *y,
           float *scratch) const;

private:
  void tilesOutside(const void *x, const void *w, const void *bias, void *y,
                    float *scratch) const;
  void filtersOutside(const void *x, const void *w, const void *bias, void *y,
                      float *scratch) const;
  WinogradPlanes inputsAt(float *data) const;
  WinogradPlanes filtersAt(float *data) const;
  // Floats of the planes of one block of outputs.
  int64_t filterFloats() const;
  int64_t sumFloats() const;
  // Sums over input channels [begin, end), which `filters` belong to, for some
  // tiles and blocks of outputs; adds to `sums` unless `begin` is 0.
  void multiply(const WinogradPlanes &inputs, const WinogradPlanes &filters,
                int64_t begin, int64_t end, float *sums, int64_t tiles,
                int64_t blocks) const;
  void putOutputs(float *sums, int64_t first, int64_t last, int64_t block,
                  int64_t blocks, const void *bias, void *y) const;

  WinogradConv c_;
  const Threads &threads_;
  const WinogradLoops &loops_;
  bool tilesOutside_;
  int64_t columns_;  // blocks of outputs per product
  int64_t together_; // tiles processed together
  int64_t chunk_;    // input channels whose filters are in scratch
};

// Computes dw from x and dy.
class WinogradFilter {
public:
  WinogradFilter(const WinogradConv &conv, const WinogradLoops &loops,
                 const Threads &threads);

  int64_t floats() const;
  void run(const void *x, const void *dy, void *dw, float *scratch) const;

private:
  // Blocks of inputs and of outputs, numbered from the first of each.
  struct Item {
    int64_t in, ins, out, outs;

    int64_t blocks() const { return ins * outs; }
  };

  int64_t sharing() const;
  int64_t items() const;
  Item itemAt(int64_t index) const;
  // Of all blocks of some rows of x's and of dy's planes.
  int64_t inputFloats() const;
  int64_t outputFloats() const;
  int64_t sumFloats() const; // of an item
  void multiply(const WinogradPlanes &x, const WinogradPlanes &dy,
                const Item &item, int64_t tiles, const WinogradPlanes &sums,
                bool adds) const;
  void write(const WinogradSums &sums, const Item &item, int64_t block,
             void *dw) const;
  void sumApart(const void *x, const void *dy, void *dw, float *scratch) const;
  void sumJointly(const void *x, const void *dy, void *dw,
                  float *scratch) const;

  WinogradConv c_;
  const Threads &threads_;
  const WinogradLoops &loops_;
  int64_t together_;                 // tiles transformed together
  int64_t waves_ = 1;                // of all threads
  int64_t inputs_ = 4, outputs_ = 2; // blocks per item
  int64_t parts_ = 0; // of the tiles, with sums of their own; 0: joint sums
};

enum class ConvResult { Images, Data, Filter };

// Binds a command whose attribute `winograd` is the size of output tiles;
// without the attribute, computes the filter gradient by plain products.
Result<std::unique_ptr<Command>> bindWinograd(CpuDevice &device,
                                              const CommandSpec &spec,
                                              const Conv &conv,
                                              ConvResult result);

// Whether plain products are predicted to be faster than oneDNN for a filter
// gradient.
bool areProductsFaster(const CommandSpec &spec, const Conv &conv);

} // namespace dlc
