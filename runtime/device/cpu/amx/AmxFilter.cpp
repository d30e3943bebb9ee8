// SPDX-License-Identifier: Apache-2.0
// dw[o, tap, i] = sum over pixels of dy[pixel, o] x[pixel + tap, i]: products
// of matrices whose terms are pixels, one for each tap.
//
// Pixels of dy and of x are numbered alike, in frames that are larger than both
// images: what a tap reads beyond an image is a zero, and a tap is one distance
// d between numbers. With strides, x is divided into phases, images of every
// second (third, ...) row and column, whose pixels a tap reads side by side
// again. So the terms of a tap are dy[n] and x[n + d] for all numbers n, and
// tiles of x are read from pair d / 2 on: x is packed into pairs twice, from
// even and from odd numbers on.
#include "runtime/device/cpu/amx/AmxFilter.h"
#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/amx/AmxLoops.h"

#include <algorithm>

namespace dlc {
namespace {

constexpr int64_t kAmxWaveBytes = 2 << 20; // of packed tiles: an L2
constexpr int64_t kLeastTerms = 512;       // of a wave
constexpr int64_t kChunkTerms = 256;       // terms whose tiles stay in an L1
constexpr int64_t kManyBlocks = 128;       // of filters: work for many threads
constexpr int64_t kMostWaves = 8;          // at once

int64_t roundedUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// One dimension.
struct Axis {
  Sliding window;
  int64_t in, out;

  int64_t floorOf(int64_t tap) const {
    const int64_t at = tap * window.dilation - window.low;
    return (at - (at % window.stride + window.stride) % window.stride) /
           window.stride;
  }
  int64_t phaseOf(int64_t tap) const {
    return tap * window.dilation - window.low - floorOf(tap) * window.stride;
  }
  // Of the inputs, those that a tap reads: others may be infinite.
  int64_t read() const {
    return std::min(in, (out - 1) * window.stride +
                            (window.kernel - 1) * window.dilation + 1 -
                            window.low);
  }
  // Of the frame: no tap of a real output reads a real input of another frame.
  int64_t size() const {
    const int64_t inputs = (read() - 1) / window.stride + 1,
                  last = floorOf(window.kernel - 1), first = floorOf(0);
    return std::max({inputs, out, out + last, inputs - first});
  }
};

// A phase of x, in pairs from even or from odd numbers on.
struct Copy {
  int64_t row, column, parity;
  auto operator<=>(const Copy &) const = default;
};
struct Tap {
  size_t copy;
  int64_t distance;
};

class AmxFilter {
public:
  AmxFilter(const Conv &conv, const Threads &threads);

  uint64_t bytes() const;
  void run(const uint16_t *x, const uint16_t *dy, uint16_t *dw,
           std::byte *scratch) const;

private:
  // Of one wave.
  struct Range {
    int64_t begin, terms;
  };

  int64_t leftStride() const { return wave_ / kAmxTerms * kAmxBytes; }
  int64_t rightStride() const {
    return (wave_ + before_ + after_) / kAmxTerms * kAmxBytes;
  }
  int64_t leftBytes() const { return outputs_ / 16 * leftStride(); }
  int64_t copyBytes() const { return inputs_ / 16 * rightStride(); }
  int64_t rightBytes() const { return int64_t(copies_.size()) * copyBytes(); }
  int64_t packedBytes() const { return leftBytes() + rightBytes(); }
  int64_t blocks() const {
    return inputs_ / kAmxBlock * (outputs_ / kAmxBlock);
  }
  int64_t sumFloats() const { return int64_t(taps_.size()) * 4 * kAmxFloats; }

  Range rangeOf(int64_t wave) const {
    const int64_t begin = wave * wave_;
    return {begin, std::min(wave_, roundedUp(numbers_ - begin, kAmxTerms))};
  }
  template <class F> void forPixels(int64_t begin, int64_t count, F &&fn) const;
  void packOutputs(const uint16_t *dy, int64_t begin, std::byte *to) const;
  void packInputs(const uint16_t *x, const Copy &copy, int64_t begin,
                  std::byte *to) const;
  void packWave(const uint16_t *x, const uint16_t *dy, int64_t wave,
                int64_t step, std::byte *packed) const;
  void multiply(const std::byte *packed, const Range &range, int64_t begin,
                int64_t end, float *sums, bool adds) const;
  void write(const float *sums, int64_t count, int64_t block,
             uint16_t *dw) const;

  const Threads &threads_;
  const AmxLoops &loops_ = *amxLoops();
  Axis down_, across_;
  int64_t inputs_, outputs_; // channels
  int64_t numbers_;
  std::vector<Tap> taps_;     // in the filters' order
  std::vector<size_t> order_; // of taps that read the same tiles side by side
  std::vector<Copy> copies_;
  int64_t before_, after_; // numbers of x around those of dy in a wave
  int64_t wave_, waves_, together_;
  std::vector<uint16_t> zeros_;   // the channels of a pixel outside of an image
  std::vector<uint16_t> inputOf_; // of AmxFilters
  std::vector<uint32_t> masks_;
};

// Waves that are computed at once have sums of their own, so that few filters
// give work to many threads, too; how many does not depend on the threads.
AmxFilter::AmxFilter(const Conv &conv, const Threads &threads)
    : threads_(threads), down_{conv.window.along[1], conv.x.size[1],
                               conv.y.size[1]},
      across_{conv.window.along[2], conv.x.size[2], conv.y.size[2]},
      inputs_(conv.x.c), outputs_(conv.y.c),
      numbers_(conv.x.n * down_.size() * across_.size()),
      zeros_(size_t(std::max(inputs_, outputs_))) {
  int64_t first = 0, last = 0;
  for (int64_t row = 0; row < down_.window.kernel; ++row)
    for (int64_t column = 0; column < across_.window.kernel; ++column) {
      const int64_t distance =
          down_.floorOf(row) * across_.size() + across_.floorOf(column);
      const Copy copy{down_.phaseOf(row), across_.phaseOf(column),
                      distance & 1};
      const auto found = std::find(copies_.begin(), copies_.end(), copy);
      taps_.push_back({size_t(found - copies_.begin()), distance});
      if (found == copies_.end())
        copies_.push_back(copy);
      order_.push_back(order_.size());
      first = std::min(first, taps_.back().distance);
      last = std::max(last, taps_.back().distance);
    }
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return taps_[a].copy < taps_[b].copy;
  });
  before_ = roundedUp(-first, kAmxTerms);
  after_ = roundedUp(last + 1, kAmxTerms);
  const int64_t bytesOfTerm =
      2 * (outputs_ + int64_t(copies_.size()) * inputs_);
  wave_ =
      std::min(std::max(kAmxWaveBytes / bytesOfTerm / kChunkTerms * kChunkTerms,
                        kLeastTerms),
               roundedUp(numbers_, kAmxTerms));
  waves_ = (numbers_ - 1) / wave_ + 1;
  together_ = std::min(
      {std::max<int64_t>(kManyBlocks / blocks(), 1), kMostWaves, waves_});
  const auto taps = int64_t(taps_.size());
  for (int64_t at = 0; at < kAmxBlock * taps; ++at)
    inputOf_.push_back(static_cast<uint16_t>(at / taps));
  for (int64_t at = 0; at < taps * taps; ++at) {
    uint32_t mask = 0;
    for (int64_t bit = 0; bit < kAmxBlock; ++bit)
      if ((at / taps * kAmxBlock + bit) % taps == at % taps)
        mask |= 1U << bit;
    masks_.push_back(mask);
  }
}

uint64_t AmxFilter::bytes() const {
  return uint64_t(together_ * packedBytes()) +
         uint64_t(together_ * blocks() * sumFloats()) * sizeof(float);
}

// Calls fn(i, image, row, column) of `count` numbers from `begin` on that are
// a frame's.
template <class F>
void AmxFilter::forPixels(int64_t begin, int64_t count, F &&fn) const {
  const int64_t width = across_.size(), height = down_.size();
  const int64_t from = std::max<int64_t>(begin, 0);
  int64_t column = from % width, row = from / width % height,
          image = from / width / height;
  for (int64_t n = from; n < std::min(begin + count, numbers_); ++n) {
    fn(n - begin, image, row, column);
    if (++column == width) {
      column = 0;
      if (++row == height)
        row = 0, ++image;
    }
  }
}

void AmxFilter::packOutputs(const uint16_t *dy, int64_t begin,
                            std::byte *to) const {
  const uint16_t *pixels[kAmxTerms];
  std::fill_n(pixels, kAmxTerms, zeros_.data());
  forPixels(begin, kAmxTerms,
            [&](int64_t i, int64_t image, int64_t row, int64_t column) {
              if (row < down_.out && column < across_.out)
                pixels[i] =
                    dy + ((image * down_.out + row) * across_.out + column) *
                             outputs_;
            });
  loops_.packTerms(AmxSide::Left, pixels, outputs_, to, leftStride());
}

void AmxFilter::packInputs(const uint16_t *x, const Copy &copy, int64_t begin,
                           std::byte *to) const {
  const uint16_t *pixels[kAmxTerms];
  std::fill_n(pixels, kAmxTerms, zeros_.data());
  forPixels(begin + copy.parity, kAmxTerms,
            [&](int64_t i, int64_t image, int64_t row, int64_t column) {
              row = row * down_.window.stride + copy.row;
              column = column * across_.window.stride + copy.column;
              if (row < down_.read() && column < across_.read())
                pixels[i] =
                    x +
                    ((image * down_.in + row) * across_.in + column) * inputs_;
            });
  loops_.packTerms(AmxSide::Right, pixels, inputs_, to, rightStride());
}

// Step by step, those of dy first, then those of x, all copies of a step
// after each other.
void AmxFilter::packWave(const uint16_t *x, const uint16_t *dy, int64_t wave,
                         int64_t step, std::byte *packed) const {
  const int64_t begin = wave * wave_, lefts = wave_ / kAmxTerms;
  if (step < lefts)
    return packOutputs(dy, begin + step * kAmxTerms, packed + step * kAmxBytes);
  const int64_t at = step - lefts;
  for (size_t copy = 0; copy < copies_.size(); ++copy)
    packInputs(x, copies_[copy], begin - before_ + at * kAmxTerms,
               packed + leftBytes() + int64_t(copy) * copyBytes() +
                   at * kAmxBytes);
}

// Of blocks [begin, end), whose sums are one after the other. Tiles of a chunk
// of terms stay in caches for all blocks and taps that read them.
void AmxFilter::multiply(const std::byte *packed, const Range &range,
                         int64_t begin, int64_t end, float *sums,
                         bool adds) const {
  const int64_t across = inputs_ / kAmxBlock,
                chunk = taps_.size() > 1 ? kChunkTerms : 2 * kChunkTerms;
  for (int64_t at = 0; at < range.terms; at += chunk)
    for (int64_t block = begin; block < end; ++block) {
      const std::byte *const left = packed + block / across * 2 * leftStride() +
                                    at / kAmxTerms * kAmxBytes;
      const std::byte *const right =
          packed + leftBytes() + block % across * 2 * rightStride();
      for (size_t tap : order_) {
        const int64_t from = at + before_ + taps_[tap].distance;
        loops_.multiply(
            {left,
             right + int64_t(taps_[tap].copy) * copyBytes() + (from >> 1) * 64,
             leftStride(), rightStride(),
             std::min(chunk, range.terms - at) / kAmxTerms,
             sums + (block - begin) * sumFloats() +
                 int64_t(tap) * 4 * kAmxFloats,
             adds || at > 0});
      }
    }
}

void AmxFilter::write(const float *sums, int64_t count, int64_t block,
                      uint16_t *dw) const {
  const int64_t across = inputs_ / kAmxBlock, taps = int64_t(taps_.size()),
                row = inputs_ * taps;
  loops_.writeFilters({sums, count, blocks() * sumFloats(), taps,
                       inputOf_.data(), masks_.data(),
                       dw + block / across * kAmxBlock * row +
                           block % across * kAmxBlock * taps,
                       row});
}

void AmxFilter::run(const uint16_t *x, const uint16_t *dy, uint16_t *dw,
                    std::byte *scratch) const {
  float *const sums =
      reinterpret_cast<float *>(scratch + together_ * packedBytes());
  const int64_t packs = wave_ / kAmxTerms + rightStride() / kAmxBytes;
  for (int64_t first = 0; first < waves_; first += together_) {
    const int64_t count = std::min(together_, waves_ - first);
    threads_.parallelFor(count * packs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        packWave(x, dy, first + i / packs, i % packs,
                 scratch + i / packs * packedBytes());
    });
    threads_.parallelFor(count * blocks(), 1, [&](int64_t begin, int64_t end) {
      loops_.enter();
      while (begin < end) {
        const int64_t wave = begin / blocks(), block = begin % blocks(),
                      next = std::min(end, (wave + 1) * blocks());
        multiply(scratch + wave * packedBytes(), rangeOf(first + wave), block,
                 block + next - begin, sums + begin * sumFloats(), first > 0);
        begin = next;
      }
      loops_.leave();
    });
  }
  threads_.parallelFor(blocks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block)
      write(sums + block * sumFloats(), together_, block, dw);
  });
}

class AmxFilterCommand final : public Command {
public:
  AmxFilterCommand(CpuDevice &device, const CommandSpec &spec, const Conv &conv)
      : device_(device), filter_(conv, device.threads()),
        x_(as<uint16_t>(spec.inputs[0])), dy_(as<uint16_t>(spec.inputs[1])),
        dw_(as<uint16_t>(spec.outputs[0])) {}

  uint64_t bytes() const { return filter_.bytes(); }
  Status enqueue() override {
    filter_.run(x_, dy_, dw_, device_.workspace().data());
    return {};
  }

private:
  CpuDevice &device_;
  AmxFilter filter_;
  const uint16_t *x_, *dy_;
  uint16_t *dw_;
};

} // namespace

bool haveTiles(const CommandSpec &spec, const Conv &conv) {
  for (const auto *operands : {&spec.inputs, &spec.outputs})
    for (const Operand &operand : *operands)
      if (typeOf(operand) != plan::BF16)
        return false;
  return conv.x.dims <= 2 && conv.x.channelsLast && !conv.filtersLast &&
         conv.group == 1 && conv.x.c % kAmxBlock == 0 &&
         conv.y.c % kAmxBlock == 0 && conv.window.taps() <= kAmxTaps &&
         conv.x.n > 0 && amxLoops();
}

Result<std::unique_ptr<Command>>
bindAmxFilter(CpuDevice &device, const CommandSpec &spec, const Conv &conv) {
  auto command = std::make_unique<AmxFilterCommand>(device, spec, conv);
  DLC_TRY(device.workspace().reserve(command->bytes()));
  return std::unique_ptr<Command>(std::move(command));
}

} // namespace dlc
