// SPDX-License-Identifier: Apache-2.0
// Orders the loops so that data that is reused stays in caches. The order of
// sums is fixed: results depend neither on threads nor on caches.
#include "runtime/device/cpu/winograd/Winograd.h"
#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Half.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

constexpr int64_t kInputFloats = 64 << 10; // of inputs: half of an L2 cache
constexpr int64_t kLeastTiles = 10;        // to reuse filters from an L3 cache
constexpr int64_t kManyTiles = 128;        // to reuse filters just computed
constexpr int64_t kChunk = 32; // channels summed before they are added: the
                               // error grows with the root of a chain's length
constexpr int64_t kGradientTiles = 192;   // of two or three blocks: an L1 cache
constexpr int64_t kWaveFloats = 2 << 20;  // of both operands: an L3 cache
constexpr int64_t kOwnFloats = 160 << 10; // of sums: half of an L2 cache
constexpr int64_t kOwnTiles = 16;         // beside them
constexpr int64_t kOwnParts = 8; // each of which costs a pass over sums

int64_t blocksOf(const WinogradImage &image) {
  return image.channels / kWinogradLanes;
}

int64_t planeFloats(const WinogradConv &c, int64_t rows, int64_t blocks) {
  return c.planes() * WinogradPlanes::strideOf(rows, blocks);
}
int64_t gradientFloats(const WinogradConv &c, int64_t rows) {
  return c.gradientPlanes() * WinogradPlanes::strideOf(rows, blocksOf(c.out));
}
WinogradPlanes planesAt(float *data, int64_t rows, int64_t blocks) {
  return {data, WinogradPlanes::strideOf(rows, blocks), rows};
}

} // namespace

// With few input channels, inputs of some tiles fit into a core's L2 cache,
// while all filters are transformed once and come from L3: tiles are the outer
// loop. Otherwise filters are transformed where they are used, for many tiles,
// and never stored in memory.
WinogradForward::WinogradForward(const WinogradConv &conv,
                                 const WinogradLoops &loops,
                                 const Threads &threads)
    : c_(conv), threads_(threads), loops_(loops) {
  const int64_t fit = kInputFloats / (c_.planes() * c_.in.channels),
                each = (c_.tiles() - 1) / threads.count() + 1;
  tilesOutside_ = fit >= kLeastTiles;
  columns_ = std::min(loops_.columns, blocksOf(c_.out));
  if (!tilesOutside_ && blocksOf(c_.out) < columns_ * threads.count())
    columns_ = 1; // for more threads
  together_ =
      tilesOutside_
          ? std::min(each, fit < loops_.rows ? fit : fit - fit % loops_.rows)
          : std::min(c_.tiles(), kManyTiles);
  chunk_ = std::min(c_.in.channels, kChunk);
}

WinogradPlanes WinogradForward::inputsAt(float *data) const {
  return planesAt(data, together_, blocksOf(c_.in));
}
WinogradPlanes WinogradForward::filtersAt(float *data) const {
  return planesAt(data, tilesOutside_ ? c_.in.channels : chunk_, 1);
}
int64_t WinogradForward::filterFloats() const {
  return planeFloats(c_, tilesOutside_ ? c_.in.channels : chunk_, 1);
}
int64_t WinogradForward::sumFloats() const {
  return planeFloats(c_, together_, 1);
}

int64_t WinogradForward::floats() const {
  const int64_t inputs = planeFloats(c_, together_, blocksOf(c_.in)),
                sums = columns_ * sumFloats();
  return tilesOutside_
             ? blocksOf(c_.out) * filterFloats() +
                   threads_.count() * (inputs + sums)
             : inputs + threads_.count() * (columns_ * filterFloats() + sums);
}

void WinogradForward::run(const void *x, const void *w, const void *bias,
                          void *y, float *scratch) const {
  tilesOutside_ ? tilesOutside(x, w, bias, y, scratch)
                : filtersOutside(x, w, bias, y, scratch);
}

void WinogradForward::multiply(const WinogradPlanes &inputs,
                               const WinogradPlanes &filters, int64_t begin,
                               int64_t end, float *sums, int64_t tiles,
                               int64_t blocks) const {
  const auto to = planesAt(sums, together_, 1);
  for (int64_t p = 0; p < c_.planes(); ++p)
    for (int64_t i = begin; i < end; i += kChunk)
      loops_.product({inputs.at(p, i / kWinogradLanes, 0), kWinogradLanes, 1,
                      inputs.rows * kWinogradLanes, tiles, kWinogradLanes,
                      std::min(kChunk, end - i) / kWinogradLanes,
                      filters.at(p, 0, i - begin), to.at(p, 0, 0), i > 0,
                      blocks, filterFloats(), sumFloats()});
}

void WinogradForward::putOutputs(float *sums, int64_t first, int64_t last,
                                 int64_t block, int64_t blocks,
                                 const void *bias, void *y) const {
  for (int64_t b = 0; b < blocks; ++b)
    loops_.outputs(c_, planesAt(sums + b * sumFloats(), together_, 1), first,
                   last, block + b, bias, y);
}

void WinogradForward::tilesOutside(const void *x, const void *w,
                                   const void *bias, void *y,
                                   float *scratch) const {
  const int64_t blocks = blocksOf(c_.out), filters = filterFloats(),
                inputs = planeFloats(c_, together_, blocksOf(c_.in)),
                own = inputs + columns_ * sumFloats();
  threads_.parallelFor(blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      loops_.filters(c_, w, b, 0, c_.in.channels,
                     filtersAt(scratch + b * filters));
  });
  const int64_t groups = (c_.tiles() + together_ - 1) / together_;
  threads_.parallelParts(groups, 1, [&](int part, int64_t begin, int64_t end) {
    float *const mine = scratch + blocks * filters + part * own;
    float *const sums = mine + inputs;
    const auto in = inputsAt(mine);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = c_.tiles() * g / groups,
                    last = c_.tiles() * (g + 1) / groups;
      loops_.inputs(c_, x, first, last, in);
      for (int64_t b = 0; b < blocks; b += columns_) {
        const int64_t n = std::min(columns_, blocks - b);
        multiply(in, filtersAt(scratch + b * filters), 0, c_.in.channels, sums,
                 last - first, n);
        putOutputs(sums, first, last, b, n, bias, y);
      }
    }
  });
}

void WinogradForward::filtersOutside(const void *x, const void *w,
                                     const void *bias, void *y,
                                     float *scratch) const {
  const int64_t blocks = blocksOf(c_.out),
                inputs = planeFloats(c_, together_, blocksOf(c_.in)),
                filters = columns_ * filterFloats(),
                own = filters + columns_ * sumFloats();
  const auto in = inputsAt(scratch);
  for (int64_t first = 0; first < c_.tiles(); first += together_) {
    const int64_t tiles = std::min(together_, c_.tiles() - first);
    threads_.parallelFor(tiles, 1, [&](int64_t begin, int64_t end) {
      WinogradPlanes to = in;
      to.data = in.at(0, 0, begin);
      loops_.inputs(c_, x, first + begin, first + end, to);
    });
    threads_.parallelParts(
        (blocks - 1) / columns_ + 1, 1,
        [&](int part, int64_t begin, int64_t end) {
          float *const mine = scratch + inputs + part * own, *const sums =
                                                                 mine + filters;
          for (int64_t item = begin; item < end; ++item) {
            const int64_t b = item * columns_,
                          n = std::min(columns_, blocks - b);
            for (int64_t i = 0; i < c_.in.channels; i += chunk_) {
              const int64_t next = std::min(i + chunk_, c_.in.channels);
              for (int64_t f = 0; f < n; ++f)
                loops_.filters(c_, w, b + f, i, next,
                               filtersAt(mine + f * filterFloats()));
              multiply(in, filtersAt(mine), i, next, sums, tiles, n);
            }
            putOutputs(sums, first, first + tiles, b, n, bias, y);
          }
        });
  }
}

// An item has all planes of some blocks of inputs and of outputs.
WinogradFilter::WinogradFilter(const WinogradConv &conv,
                               const WinogradLoops &loops,
                               const Threads &threads)
    : c_(conv), threads_(threads), loops_(loops) {
  const int64_t ins = blocksOf(c_.in), outs = blocksOf(c_.out);
  if (conv.tile > 1 &&
      c_.planes() * c_.in.channels * c_.out.channels <= kOwnFloats) {
    together_ = std::min(kOwnTiles, c_.tiles());
    parts_ = std::min(kOwnParts, (c_.tiles() - 1) / together_ + 1);
    inputs_ = (ins - 1) / std::min(ins, sharing()) + 1;
    outputs_ = outs;
    return;
  }
  const int64_t fit = kWaveFloats / (c_.planes() * c_.in.channels +
                                     c_.gradientPlanes() * c_.out.channels);
  if (conv.tile == 1)
    inputs_ = 8, outputs_ = 4;
  together_ = std::min(std::max(fit, kGradientTiles), c_.tiles());
  waves_ = (c_.tiles() - 1) / together_ + 1;
  inputs_ = std::min(inputs_, ins);
  outputs_ = std::min(outputs_, outs);
  while (items() < 2 * threads_.count() && (inputs_ > 1 || outputs_ > 1))
    --(outputs_ > loops_.columns || inputs_ == 1 ? outputs_ : inputs_);
}

// Threads per part of the tiles.
int64_t WinogradFilter::sharing() const {
  return (threads_.count() - 1) / parts_ + 1;
}

int64_t WinogradFilter::items() const {
  return ((blocksOf(c_.in) - 1) / inputs_ + 1) *
         ((blocksOf(c_.out) - 1) / outputs_ + 1);
}

WinogradFilter::Item WinogradFilter::itemAt(int64_t index) const {
  const int64_t across = (blocksOf(c_.out) - 1) / outputs_ + 1,
                in = index / across * inputs_, out = index % across * outputs_;
  return {in, std::min(inputs_, blocksOf(c_.in) - in), out,
          std::min(outputs_, blocksOf(c_.out) - out)};
}

int64_t WinogradFilter::inputFloats() const {
  return planeFloats(c_, together_, blocksOf(c_.in));
}
int64_t WinogradFilter::outputFloats() const {
  return gradientFloats(c_, together_);
}
int64_t WinogradFilter::sumFloats() const {
  return planeFloats(c_, kWinogradLanes, inputs_ * outputs_);
}

int64_t WinogradFilter::floats() const {
  const int64_t operands = inputFloats() + outputFloats();
  return parts_ ? threads_.count() * operands + parts_ * items() * sumFloats()
                : operands +
                      (waves_ > 1 ? items() : threads_.count()) * sumFloats();
}

void WinogradFilter::multiply(const WinogradPlanes &x, const WinogradPlanes &dy,
                              const Item &item, int64_t tiles,
                              const WinogradPlanes &sums, bool adds) const {
  for (int64_t p = 0; p < c_.planes(); ++p)
    for (int64_t t = 0; t < tiles; t += kGradientTiles)
      for (int64_t o = 0; o < item.outs; o += loops_.columns)
        for (int64_t i = 0; i < item.ins; ++i)
          loops_.product({x.at(p, item.in + i, t), 1, kWinogradLanes, 0,
                          kWinogradLanes, std::min(kGradientTiles, tiles - t),
                          1, dy.at(p % c_.gradientPlanes(), item.out + o, t),
                          sums.at(p, o * item.ins + i, 0), adds || t > 0,
                          std::min(loops_.columns, item.outs - o),
                          dy.rows * kWinogradLanes,
                          item.ins * sums.rows * kWinogradLanes});
}

void WinogradFilter::write(const WinogradSums &sums, const Item &item,
                           int64_t block, void *dw) const {
  if (block < item.blocks())
    loops_.filterGradients(c_, sums, block, item.in + block % item.ins,
                           item.out + block / item.ins, dw);
}

void WinogradFilter::run(const void *x, const void *dy, void *dw,
                         float *scratch) const {
  parts_ ? sumApart(x, dy, dw, scratch) : sumJointly(x, dy, dw, scratch);
}

// With few channels all sums fit into a core's L2 cache, beside some tiles:
// each thread transforms and multiplies tiles by itself. Threads that share a
// part of the tiles transform them all, for sums of different inputs.
void WinogradFilter::sumApart(const void *x, const void *dy, void *dw,
                              float *scratch) const {
  const int64_t operands = inputFloats() + outputFloats();
  float *const sums = scratch + threads_.count() * operands;
  const auto sumsOf = [&](int64_t part, int64_t item) {
    return planesAt(sums + (part * items() + item) * sumFloats(),
                    kWinogradLanes, inputs_ * outputs_);
  };
  threads_.parallelParts(
      parts_ * items(), 1, [&](int thread, int64_t begin, int64_t end) {
        float *const mine = scratch + thread * operands;
        const auto in = planesAt(mine, together_, blocksOf(c_.in)),
                   out = planesAt(mine + inputFloats(), together_,
                                  blocksOf(c_.out));
        for (int64_t i = begin; i < end; ++i) {
          const int64_t part = i / items(), item = i % items(),
                        first = c_.tiles() * part / parts_,
                        last = c_.tiles() * (part + 1) / parts_;
          for (int64_t t = first; t < last; t += together_) {
            const int64_t next = std::min(t + together_, last);
            loops_.inputs(c_, x, t, next, in);
            loops_.gradients(c_, dy, t, next, out);
            multiply(in, out, itemAt(item), next - t, sumsOf(part, item),
                     t > first);
          }
        }
      });
  const int64_t blocks = inputs_ * outputs_;
  threads_.parallelFor(items() * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      write({sumsOf(0, i / blocks), parts_, items() * sumFloats()},
            itemAt(i / blocks), i % blocks, dw);
  });
}

// Inputs and gradients of many tiles are transformed once by all threads and
// come from L3.
void WinogradFilter::sumJointly(const void *x, const void *dy, void *dw,
                                float *scratch) const {
  float *const gradients = scratch + inputFloats();
  float *const sums = gradients + outputFloats();
  const auto in = planesAt(scratch, together_, blocksOf(c_.in)),
             out = planesAt(gradients, together_, blocksOf(c_.out));
  for (int64_t wave = 0; wave < waves_; ++wave) {
    const int64_t first = wave * together_,
                  tiles = std::min(together_, c_.tiles() - first);
    threads_.parallelFor(tiles, 1, [&](int64_t begin, int64_t end) {
      WinogradPlanes inputs = in, outputs = out;
      inputs.data = in.at(0, 0, begin), outputs.data = out.at(0, 0, begin);
      loops_.inputs(c_, x, first + begin, first + end, inputs);
      loops_.gradients(c_, dy, first + begin, first + end, outputs);
    });
    threads_.parallelParts(
        items(), 1, [&](int part, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const Item item = itemAt(i);
            const auto to =
                planesAt(sums + (waves_ > 1 ? i : part) * sumFloats(),
                         kWinogradLanes, inputs_ * outputs_);
            multiply(in, out, item, tiles, to, wave > 0);
            for (int64_t b = 0; b < item.blocks() && wave + 1 == waves_; ++b)
              write({to}, item, b, dw);
          }
        });
  }
}

namespace {

template <class Products, class F>
Result<std::unique_ptr<Command>> command(CpuDevice &device,
                                         const WinogradConv &conv,
                                         const WinogradLoops &loops, F run) {
  const Products products(conv, loops, device.threads());
  return commandWithScratch(device, uint64_t(products.floats()) * sizeof(float),
                            [=](std::byte *scratch) {
                              run(products, reinterpret_cast<float *>(scratch));
                            });
}

// Whether channels fill blocks and all elements have `type`.
bool haveBlocks(const CommandSpec &spec, const Conv &conv, plan::DType type) {
  for (const auto *operands : {&spec.inputs, &spec.outputs})
    for (const Operand &operand : *operands)
      if (typeOf(operand) != type)
        return false;
  return conv.x.dims <= 2 && conv.x.channelsLast && conv.group == 1 &&
         conv.x.c % kWinogradLanes == 0 && conv.y.c % kWinogradLanes == 0;
}

// The loops for a command's tile size; null if there are none.
const WinogradLoops *loopsOf(const CommandSpec &spec, const Conv &conv,
                             ConvResult result, int64_t tile) {
  const plan::DType type = typeOf(spec.inputs[0]);
  if (!haveBlocks(spec, conv, type))
    return nullptr;
  if (tile == 1)
    return result == ConvResult::Filter && type == plan::F32 ? &filterLoops()
                                                             : nullptr;
  for (size_t d = 1; d < kSpatial; ++d) {
    const Sliding &along = conv.window.along[d];
    if (along.kernel != 3 || along.stride != 1 || along.dilation != 1)
      return nullptr;
  }
  if (tile != 2 && tile != 4)
    return nullptr;
  return type == plan::F32    ? &winogradLoops<float>(tile)
         : type == plan::BF16 ? &winogradLoops<Bf16>(tile)
         : type == plan::F16  ? &winogradLoops<F16>(tile)
                              : nullptr;
}

} // namespace

// Rates of one core, in the proportions of a Zen 3: FLOP/s of oneDNN, for
// windows that read every pixel once and for others, and of these products;
// bytes/s of packing. With AVX-512, oneDNN is faster: 290 GFLOP/s against 260
// on two cores for most of ResNet-50.
bool areProductsFaster(const CommandSpec &spec, const Conv &conv) {
  constexpr double kOnce = 56e9, kOther = 42e9, kProducts = 68e9,
                   kPacking = 20e9;
  if (!haveBlocks(spec, conv, plan::F32) || filterLoops().lanes != 8)
    return false;
  const auto taps = static_cast<double>(conv.window.taps()),
             in = static_cast<double>(conv.x.c),
             out = static_cast<double>(conv.y.c);
  const bool once = taps == 1 && conv.x.pixels() == conv.y.pixels();
  const double flops = 2 * taps * in * out, // per output
      packed = 2 * sizeof(float) * (taps * in + out);
  return flops / kProducts + packed / kPacking <
         flops / (once ? kOnce : kOther);
}

Result<std::unique_ptr<Command>> bindWinograd(CpuDevice &device,
                                              const CommandSpec &spec,
                                              const Conv &conv,
                                              ConvResult result) {
  const int64_t tile = plan::intAttribute(spec.command, "winograd", 1);
  const WinogradLoops *const loops = loopsOf(spec, conv, result, tile);
  if (!loops)
    return corrupt(spec, fmt::format("winograd={} does not fit it", tile));
  const auto image = [](const Image &image) {
    return WinogradImage{image.size[1], image.size[2], image.c};
  };
  const auto &along = conv.window.along;
  const int64_t tap = conv.filtersLast ? conv.x.c : 1,
                taps = conv.window.taps();
  const auto sliding = [&](size_t d) {
    return WinogradConv::Along{along[d].kernel, along[d].stride,
                               along[d].dilation};
  };
  WinogradConv c{conv.x.n,
                 image(conv.x),
                 image(conv.y),
                 along[1].low,
                 along[2].low,
                 taps * conv.x.c,
                 conv.filtersLast ? 1 : taps,
                 tap,
                 0,
                 tile,
                 sliding(1),
                 sliding(2)};
  std::byte *const a = spec.inputs[0].data, *const b = spec.inputs[1].data,
                   *const to = spec.outputs[0].data;
  if (result == ConvResult::Filter)
    return command<WinogradFilter>(
        device, c, *loops, [=](const WinogradFilter &products, float *scratch) {
          products.run(a, b, to, scratch);
        });
  if (result == ConvResult::Data) {
    std::swap(c.in, c.out);
    std::swap(c.outer, c.inner);
    c.top = 2 - c.top, c.left = 2 - c.left;
    c.first = 8 * tap, c.tap = -tap;
  }
  const std::byte *const bias =
      spec.inputs.size() > 2 ? spec.inputs[2].data : nullptr;
  return command<WinogradForward>(
      device, c, *loops, [=](const WinogradForward &products, float *scratch) {
        products.run(a, b, bias, to, scratch);
      });
}

} // namespace dlc
