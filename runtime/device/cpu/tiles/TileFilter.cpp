// SPDX-License-Identifier: Apache-2.0
// dw[o, tap, i] = sum over pixels of dy[pixel, o] x[pixel + tap, i]: matrix
// products, one per tap, whose terms are pixels.
//
// Pixels of dy and x have common numbers, in frames that are larger than both
// images: pixels that a tap reads outside of an image are zero, and a tap is a
// distance d between numbers. With strides, x is divided into phases, images of
// every second (third, ...) row and column, in which a tap reads adjacent
// pixels again. So the terms of a tap are dy[n] and x[n + d] for all n, and
// tiles of x are read from pair d / 2 on: x is packed into pairs twice, from
// even and from odd numbers on.
//
// If x has so few channels that those of all columns of a window fit into a
// block, they become a pixel of x per pixel of dy, and a tap is a row.
#include "runtime/device/cpu/tiles/TileFilter.h"
#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/tiles/TileLoops.h"

#include <algorithm>

namespace dlc {
namespace {

constexpr int64_t kTileWaveBytes = 2 << 20;   // of packed tiles: an L2 cache
constexpr int64_t kVectorWaveBytes = 1 << 19; // half an L2 cache without AMX
constexpr int64_t kLeastTerms = 512;          // per wave
constexpr int64_t kChunkTerms = 256;          // whose tiles fit an L1 cache
constexpr int64_t kManyBlocks = 128;          // of filters: enough for threads
constexpr int64_t kMostWaves = 8;             // in parallel

int64_t dividedUp(int64_t value, int64_t by) { return (value + by - 1) / by; }
int64_t roundedUp(int64_t value, int64_t multiple) {
  return dividedUp(value, multiple) * multiple;
}

// One spatial dimension.
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
  // Number of inputs that taps read; others may be infinite.
  int64_t read() const {
    return std::min(in, (out - 1) * window.stride +
                            (window.kernel - 1) * window.dilation + 1 -
                            window.low);
  }
  // Size of the frame: no tap of a real output reads an input of another frame.
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

bool canJoinColumns(const Conv &conv) {
  const Sliding &columns = conv.window.along[2];
  return conv.x.c % kTileBlock && columns.dilation == 1 &&
         conv.x.c * columns.kernel <= kTileBlock;
}

// Whether most pixels of a frame are padding, as with large dilations.
bool isSparse(const Conv &conv) {
  int64_t frame = 1, pixels = 1;
  for (size_t d = 0; d < 3; ++d) {
    const Axis axis{conv.window.along[d], conv.x.size[d], conv.y.size[d]};
    frame *= axis.size(), pixels *= axis.out;
  }
  return frame > 2 * pixels;
}

// True for short rows, or for one tap and more outputs than inputs, if each
// packed element is used in enough products. Against oneDNN 3.2, ms on two Zen
// 4 cores, batch 8:  64->256 @56 2.8 / 2.5  256->64 @56 2.9 / 2.7
//                 256->1024 @14 2.1 / 2.3  1024->256 @14 2.3 / 2.1
//                 512->2048 @7 2.3 / 2.7  2048->512 @7 2.4 / 2.5
bool areVectorsFaster(const Conv &conv) {
  constexpr int64_t kShortRow = 8, kLeastProducts = 56;
  return !isSparse(conv) &&
         (conv.y.size[2] <= kShortRow ||
          (conv.window.taps() == 1 && conv.y.c > conv.x.c)) &&
         conv.x.c * conv.y.c >= kLeastProducts * (conv.x.c + conv.y.c);
}

class TileFilter {
public:
  TileFilter(const Conv &conv, const Threads &threads);

  uint64_t bytes() const;
  void run(const uint16_t *x, const uint16_t *dy, uint16_t *dw,
           std::byte *scratch) const;

private:
  // The terms of one wave.
  struct Range {
    int64_t begin, terms;
  };

  int64_t leftStride() const { return wave_ / kTileTerms * kTileBytes; }
  int64_t rightStride() const {
    return (wave_ + before_ + after_) / kTileTerms * kTileBytes;
  }
  int64_t leftBytes() const { return outputs_ / 16 * leftStride(); }
  int64_t copyBytes() const { return inputs_ / 16 * rightStride(); }
  int64_t rightBytes() const { return int64_t(copies_.size()) * copyBytes(); }
  int64_t packedBytes() const { return leftBytes() + rightBytes(); }
  int64_t blocks() const {
    return inputs_ / kTileBlock * (outputs_ / kTileBlock);
  }
  // Packing steps of a wave: of dy, then of x.
  int64_t packs() const {
    return wave_ / kTileTerms + rightStride() / kTileBytes;
  }
  int64_t sumFloats() const { return int64_t(taps_.size()) * 4 * kTileFloats; }

  Range rangeOf(int64_t wave) const {
    const int64_t begin = wave * wave_;
    return {begin, std::min(wave_, roundedUp(numbers_ - begin, kTileTerms))};
  }
  template <class F> void forRuns(int64_t begin, int64_t count, F &&fn) const;
  void packOutputs(const uint16_t *dy, int64_t begin, std::byte *to) const;
  void packInputs(const uint16_t *x, const Copy &copy, int64_t begin,
                  std::byte *to) const;
  const uint16_t *joined(const uint16_t *line, int64_t column,
                         uint16_t *edge) const;
  void findElements();
  void packWave(const uint16_t *x, const uint16_t *dy, int64_t wave,
                int64_t step, std::byte *packed) const;
  void multiply(const std::byte *packed, const Range &range, int64_t begin,
                int64_t end, float *sums, bool adds) const;
  void sumApart(const uint16_t *x, const uint16_t *dy, std::byte *scratch,
                float *sums) const;
  void sumJointly(const uint16_t *x, const uint16_t *dy, std::byte *scratch,
                  float *sums) const;
  void write(const float *sums, int64_t count, int64_t block,
             uint16_t *dw) const;

  const Threads &threads_;
  const TileLoops &loops_ = *tileLoops();
  Axis down_, across_;
  const int64_t channels_;         // of x
  const Sliding columns_;          // of the window
  const int64_t columnsIn_;        // of x
  const bool joinsColumns_;        // of the window into a pixel
  const int64_t width_;            // packed elements of a pixel of x
  const int64_t inputs_, outputs_; // channels, of whole blocks
  const int64_t numbers_;
  std::vector<Tap> taps_;     // in the filters' order
  std::vector<size_t> order_; // taps that read adjacent tiles
  std::vector<Copy> copies_;
  int64_t before_, after_; // margins of x's numbers in a wave
  int64_t wave_, waves_, together_;
  std::vector<uint16_t> zeros_; // channels of a pixel outside
  int64_t elements_;            // as in TileFilters
  std::vector<uint16_t> inputOf_;
  std::vector<uint32_t> masks_;
};

// Waves that are computed in parallel have separate sums, so that few filters
// also give work to many threads; their number does not depend on the threads.
TileFilter::TileFilter(const Conv &conv, const Threads &threads)
    : threads_(threads), down_{conv.window.along[1], conv.x.size[1],
                               conv.y.size[1]},
      across_{conv.window.along[2], conv.x.size[2], conv.y.size[2]},
      channels_(conv.x.c), columns_(across_.window), columnsIn_(across_.in),
      joinsColumns_(canJoinColumns(conv)),
      width_(joinsColumns_ ? channels_ * columns_.kernel : channels_),
      inputs_(roundedUp(width_, kTileBlock)), outputs_(conv.y.c),
      numbers_(conv.x.n * down_.size() *
               (joinsColumns_ ? across_.out : across_.size())),
      zeros_(size_t(std::max(inputs_, outputs_))) {
  if (joinsColumns_)
    across_ = {Sliding{1}, across_.out, across_.out};
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
  before_ = roundedUp(-first, kTileTerms);
  after_ = roundedUp(last + 1, kTileTerms);
  const int64_t bytesOfTerm =
      2 * (outputs_ + int64_t(copies_.size()) * inputs_);
  const int64_t bytesOfWave = loops_.isAmx || blocks() > kManyBlocks / 2
                                  ? kTileWaveBytes
                                  : kVectorWaveBytes;
  const int64_t most = std::max(
      bytesOfWave / bytesOfTerm / kChunkTerms * kChunkTerms, kLeastTerms);
  waves_ = dividedUp(numbers_, most);
  wave_ = roundedUp(dividedUp(numbers_, waves_), kTileTerms);
  together_ = std::min(
      {std::max<int64_t>(kManyBlocks / blocks(), 1), kMostWaves, waves_});
  findElements();
}

// Finds the sum of each element in a row of a block of the result.
void TileFilter::findElements() {
  const auto taps = int64_t(taps_.size());
  const int64_t joined = joinsColumns_ ? columns_.kernel : 1,
                ofInput = taps * joined;
  elements_ = (joinsColumns_ ? channels_ : kTileBlock) * ofInput;
  const int64_t vectors = (elements_ - 1) / kTileBlock + 1;
  masks_.resize(size_t(vectors * taps));
  for (int64_t at = 0; at < elements_; ++at) {
    const int64_t tap = at % ofInput / joined,
                  input = at % joined * (joinsColumns_ ? channels_ : 0) +
                          at / ofInput;
    inputOf_.push_back(static_cast<uint16_t>(input));
    masks_[size_t(at / kTileBlock * taps + tap)] |= 1U << at % kTileBlock;
  }
  inputOf_.resize(size_t(vectors * kTileBlock));
}

uint64_t TileFilter::bytes() const {
  return uint64_t(together_ * packedBytes()) +
         uint64_t(together_ * blocks() * sumFloats()) * sizeof(float);
}

// Calls fn(i, length, image, row, column) for runs within rows of the frame,
// among `count` numbers from `begin` on.
template <class F>
void TileFilter::forRuns(int64_t begin, int64_t count, F &&fn) const {
  const int64_t width = across_.size(), height = down_.size(),
                end = std::min(begin + count, numbers_);
  for (int64_t n = std::max<int64_t>(begin, 0); n < end;) {
    const int64_t column = n % width, line = n / width,
                  length = std::min(width - column, end - n);
    fn(n - begin, length, line / height, line % height, column);
    n += length;
  }
}

void TileFilter::packOutputs(const uint16_t *dy, int64_t begin,
                             std::byte *to) const {
  const uint16_t *pixels[kTileTerms];
  std::fill_n(pixels, kTileTerms, zeros_.data());
  forRuns(begin, kTileTerms,
          [&](int64_t i, int64_t length, int64_t image, int64_t row,
              int64_t column) {
            if (row >= down_.out)
              return;
            const uint16_t *at =
                dy +
                ((image * down_.out + row) * across_.out + column) * outputs_;
            const int64_t end = i + std::min(length, across_.out - column);
            for (; i < end; ++i, at += outputs_)
              pixels[i] = at;
          });
  loops_.packTerms(TileSide::Left, pixels, outputs_, to, leftStride());
}

// The columns of a window in a line of x; uses `edge` if some are outside.
const uint16_t *TileFilter::joined(const uint16_t *line, int64_t column,
                                   uint16_t *edge) const {
  const int64_t begin = column * columns_.stride - columns_.low,
                end = begin + columns_.kernel;
  if (begin >= 0 && end <= columnsIn_)
    return line + begin * channels_;
  std::fill_n(edge, kTileBlock, uint16_t(0));
  for (int64_t at = std::max<int64_t>(begin, 0); at < std::min(end, columnsIn_);
       ++at)
    std::copy_n(line + at * channels_, channels_,
                edge + (at - begin) * channels_);
  return edge;
}

void TileFilter::packInputs(const uint16_t *x, const Copy &copy, int64_t begin,
                            std::byte *to) const {
  const uint16_t *pixels[kTileTerms];
  uint16_t edges[kTileTerms][kTileBlock];
  std::fill_n(pixels, kTileTerms, zeros_.data());
  forRuns(begin + copy.parity, kTileTerms,
          [&](int64_t i, int64_t length, int64_t image, int64_t row,
              int64_t column) {
            row = row * down_.window.stride + copy.row;
            if (row >= down_.read())
              return;
            const uint16_t *const line =
                x + (image * down_.in + row) * columnsIn_ * channels_;
            for (const int64_t end = i + length; i < end; ++i, ++column) {
              const int64_t at = column * across_.window.stride + copy.column;
              if (at < across_.read())
                pixels[i] = joinsColumns_ ? joined(line, at, edges[i])
                                          : line + at * channels_;
            }
          });
  loops_.packTerms(TileSide::Right, pixels, width_, to, rightStride());
}

// Step by step: first those of dy, then those of x, with all copies of a step
// in sequence.
void TileFilter::packWave(const uint16_t *x, const uint16_t *dy, int64_t wave,
                          int64_t step, std::byte *packed) const {
  const int64_t begin = wave * wave_, lefts = wave_ / kTileTerms;
  if (step < lefts)
    return packOutputs(dy, begin + step * kTileTerms,
                       packed + step * kTileBytes);
  const int64_t at = step - lefts;
  for (size_t copy = 0; copy < copies_.size(); ++copy)
    packInputs(x, copies_[copy], begin - before_ + at * kTileTerms,
               packed + leftBytes() + int64_t(copy) * copyBytes() +
                   at * kTileBytes);
}

// For blocks [begin, end), whose sums are consecutive. Tiles of a chunk of
// terms stay in caches for all blocks and taps that read them.
void TileFilter::multiply(const std::byte *packed, const Range &range,
                          int64_t begin, int64_t end, float *sums,
                          bool adds) const {
  const int64_t across = inputs_ / kTileBlock,
                chunk = taps_.size() > 1 ? kChunkTerms : 2 * kChunkTerms;
  for (int64_t at = 0; at < range.terms; at += chunk)
    for (int64_t block = begin; block < end; ++block) {
      const std::byte *const left = packed + block / across * 2 * leftStride() +
                                    at / kTileTerms * kTileBytes;
      const std::byte *const right =
          packed + leftBytes() + block % across * 2 * rightStride();
      for (size_t tap : order_) {
        const int64_t from = at + before_ + taps_[tap].distance;
        loops_.multiply(
            {left,
             right + int64_t(taps_[tap].copy) * copyBytes() + (from >> 1) * 64,
             leftStride(), rightStride(),
             std::min(chunk, range.terms - at) / kTileTerms,
             sums + (block - begin) * sumFloats() +
                 int64_t(tap) * 4 * kTileFloats,
             adds || at > 0});
      }
    }
}

void TileFilter::write(const float *sums, int64_t count, int64_t block,
                       uint16_t *dw) const {
  const int64_t across = inputs_ / kTileBlock, row = across * elements_;
  loops_.writeFilters(
      {sums, count, blocks() * sumFloats(), int64_t(taps_.size()), elements_,
       inputOf_.data(), masks_.data(),
       dw + block / across * kTileBlock * row + block % across * elements_,
       row});
}

// With few threads: each packs and multiplies waves by itself, in its L2 cache.
void TileFilter::sumApart(const uint16_t *x, const uint16_t *dy,
                          std::byte *scratch, float *sums) const {
  threads_.parallelFor(together_, 1, [&](int64_t begin, int64_t end) {
    std::byte *const packed = scratch + begin * packedBytes();
    loops_.enter();
    for (int64_t lane = begin; lane < end; ++lane)
      for (int64_t wave = lane; wave < waves_; wave += together_) {
        for (int64_t step = 0; step < packs(); ++step)
          packWave(x, dy, wave, step, packed);
        multiply(packed, rangeOf(wave), 0, blocks(),
                 sums + lane * blocks() * sumFloats(), wave >= together_);
      }
    loops_.leave();
  });
}

// With many threads: all pack, then each multiplies some blocks.
void TileFilter::sumJointly(const uint16_t *x, const uint16_t *dy,
                            std::byte *scratch, float *sums) const {
  for (int64_t first = 0; first < waves_; first += together_) {
    const int64_t count = std::min(together_, waves_ - first);
    threads_.parallelFor(count * packs(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        packWave(x, dy, first + i / packs(), i % packs(),
                 scratch + i / packs() * packedBytes());
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
}

void TileFilter::run(const uint16_t *x, const uint16_t *dy, uint16_t *dw,
                     std::byte *scratch) const {
  float *const sums =
      reinterpret_cast<float *>(scratch + together_ * packedBytes());
  if (threads_.count() <= together_)
    sumApart(x, dy, scratch, sums);
  else
    sumJointly(x, dy, scratch, sums);
  threads_.parallelFor(blocks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block)
      write(sums + block * sumFloats(), together_, block, dw);
  });
}

} // namespace

bool areTilesFaster(const CommandSpec &spec, const Conv &conv) {
  for (const auto *operands : {&spec.inputs, &spec.outputs})
    for (const Operand &operand : *operands)
      if (typeOf(operand) != plan::BF16)
        return false;
  const bool fits = conv.x.dims <= 2 && conv.x.channelsLast &&
                    !conv.filtersLast && conv.group == 1 &&
                    (conv.x.c % kTileBlock == 0 || canJoinColumns(conv)) &&
                    conv.y.c % kTileBlock == 0 &&
                    conv.window.taps() <= kTileTaps && conv.x.n > 0;
  return fits && tileLoops() && (tileLoops()->isAmx || areVectorsFaster(conv));
}

Result<std::unique_ptr<Command>>
bindTileFilter(CpuDevice &device, const CommandSpec &spec, const Conv &conv) {
  const TileFilter filter(conv, device.threads());
  return commandWithScratch(
      device, filter.bytes(),
      [=, x = as<const uint16_t>(spec.inputs[0]),
       dy = as<const uint16_t>(spec.inputs[1]),
       dw = as<uint16_t>(spec.outputs[0])](std::byte *scratch) {
        filter.run(x, dy, dw, scratch);
      });
}

} // namespace dlc
