// SPDX-License-Identifier: Apache-2.0
// A convolution with few channels per group, or one of its gradients
// (compiler/kernel/ConvKernel.h). The innermost loops run over channels and are
// vectorised by LLVM; taps, and some adjacent outputs that share loads, are
// unrolled.
#include "compiler/target/cpu/codegen/Loops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

using namespace mlir;

namespace dlc {
namespace {

/// Adjacent outputs: their sums, the filter and inputs fill the registers.
constexpr int64_t kBeside = 4;

/// Number of outputs of a row of `count` that are computed at once, at most
/// `most`; an output computed twice costs as much as another load.
int64_t besideOf(int64_t count, int64_t most) {
  int64_t best = 1, least = 2 * count;
  for (int64_t n = 2; n <= std::min(kBeside, most); ++n)
    if (int64_t cost = llvm::divideCeil(count, n) * (n + 1); cost <= least) {
      best = n;
      least = cost;
    }
  return best;
}

class Convolution {
public:
  using Values = Loops::Values;
  using Axis = ConvKernel::Axis;

  Convolution(const ConvKernel &k, ScalarEmitter &e, ArrayRef<Value> inputs,
              Value output, Type element, Block *entry)
      : k(k), e(e), b(e.b), loops(e), inputs(inputs), output(output),
        element(element), compute(computeType(element)) {
    copy = stackArray(e, entry, compute, k.copied());
    const int64_t filter = k.block * k.planes() * k.taps() / k.parts();
    weights = stackArray(e, entry, compute, filter);
    if (k.kind == ConvKernel::Filter)
      sums = stackArray(e, entry, compute, filter);
  }

  void emit(Value item) {
    const bool isFilter = k.kind == ConvKernel::Filter;
    Value rest = item;
    for (size_t d = 3; d-- > 0;)
      part[d] = take(rest, k.axes[d].parts());
    Value block = take(rest, k.blocks());
    firstChannel = times(block, k.block);
    width = k.channels % k.block
                ? smaller(constant(k.block),
                          minus(constant(k.channels), firstChannel))
                : constant(k.block);
    if (isFilter) {
      zero(weights);
      loop(constant(k.images), [&](Value image) {
        zero(sums);
        forEachTile(0, [&] { addTile(image); });
        addSums();
      });
      storeFilter();
      return;
    }
    for (size_t d = 3; d-- > 0;)
      tile[d] = take(rest, k.axes[d].tiles());
    copyFilter();
    Value first = times(rest, k.together),
          count = k.images % k.together
                      ? smaller(constant(k.together),
                                minus(constant(k.images), first))
                      : constant(k.together);
    loop(count, [&](Value i) {
      Value image = plus(first, i);
      copyTile(image);
      forEachPhase(0, [&] { forEachPhase(1, [&] { writePhases(image); }); });
    });
  }

private:
  //===--- numbers --------------------------------------------------------===//

  static constexpr auto kFlags = arith::IntegerOverflowFlags::nsw;
  Value constant(int64_t n) { return e.constant(n); }
  Value plus(Value x, Value y) {
    return b.createOrFold<arith::AddIOp>(e.loc, x, y, kFlags);
  }
  Value plus(Value x, int64_t n) { return n ? plus(x, constant(n)) : x; }
  Value minus(Value x, Value y) {
    return b.createOrFold<arith::SubIOp>(e.loc, x, y, kFlags);
  }
  Value times(Value x, int64_t n) {
    return b.createOrFold<arith::MulIOp>(e.loc, x, constant(n), kFlags);
  }
  Value smaller(Value x, Value y) {
    return b.createOrFold<arith::MinSIOp>(e.loc, x, y);
  }
  Value larger(Value x, Value y) {
    return b.createOrFold<arith::MaxSIOp>(e.loc, x, y);
  }
  /// rest % n; `rest` becomes rest / n.
  Value take(Value &rest, int64_t n) {
    if (n == 1)
      return constant(0);
    Value number = b.createOrFold<arith::RemSIOp>(e.loc, rest, constant(n));
    rest = b.createOrFold<arith::DivSIOp>(e.loc, rest, constant(n));
    return number;
  }
  Value product(Value x, Value y) {
    return arith::MulFOp::create(b, e.loc, x, y);
  }
  Value sum(Value x, Value y) { return arith::AddFOp::create(b, e.loc, x, y); }

  //===--- loops ----------------------------------------------------------===//

  void loop(Value low, Value high, Loops::Kind kind,
            llvm::function_ref<void(Value)> body) {
    loops.loop(low, high, {}, kind, [&](Value i, ValueRange) {
      body(i);
      return Values();
    });
  }
  void loop(Value count, llvm::function_ref<void(Value)> body) {
    loop(constant(0), count, Loops::Between, body);
  }
  void overChannels(llvm::function_ref<void(Value)> body) {
    loop(constant(0), width, Loops::Innermost, body);
  }
  void forEachTile(size_t d, llvm::function_ref<void()> f) {
    if (d == 3)
      return f();
    loop(constant(k.axes[d].tiles()), [&](Value number) {
      tile[d] = number;
      forEachTile(d + 1, f);
    });
  }
  void forEachPhase(size_t d, llvm::function_ref<void()> f) {
    for (phase[d] = 0; phase[d] < k.axes[d].phases; ++phase[d])
      f();
    phase[d] = 0;
  }
  /// Calls f(tap, its offset in the copy in elements) for this phase.
  template <class F> void forEachTap(F f) {
    const auto &[x, y, z] = k.axes;
    for (auto t : x.taps(phase[0]))
      for (auto u : y.taps(phase[1]))
        for (auto v : z.taps(phase[2])) {
          const int64_t at[3] = {t.offset - x.least, u.offset - y.least,
                                 v.offset - z.least};
          int64_t number = 0, offset = 0;
          const int64_t numbers[3] = {t.number, u.number, v.number};
          for (size_t d = 0; d < 3; ++d) {
            const Axis &axis = k.axes[d];
            number =
                number * (axis.apart ? 1 : axis.window.kernel) + numbers[d];
            offset = offset * axis.copied() + at[d];
          }
          f(number, offset * k.block);
        }
  }
  int64_t tapsOfItem() const { return k.taps() / k.parts(); }
  int64_t copiedPlane() const { return k.copied() / k.planes(); }

  //===--- copies ---------------------------------------------------------===//

  /// Offset of plane 0 of channel c of the block in the image that is read.
  Value sourceOf(Value c, int64_t plane) {
    Value channel = plus(firstChannel, c);
    if (k.own > 1)
      channel = b.createOrFold<arith::DivSIOp>(e.loc, channel, constant(k.own));
    return plus(times(channel, k.other), plane);
  }

  /// Copies what the tile's taps read.
  void copyTile(Value image) {
    Value start[3];
    for (size_t d = 0; d < 3; ++d) {
      const Axis &axis = k.axes[d];
      start[d] = plus(times(tile[d], axis.tile * axis.step * axis.between),
                      axis.least);
      start[d] = plus(start[d], times(part[d], axis.window.dilation));
    }
    const auto &[x, y, z] = k.axes;
    for (int64_t plane = 0; plane < k.planes(); ++plane)
      loop(constant(x.copied()), [&](Value i) {
        Value atX = plus(start[0], times(i, x.between)),
              inX = isInside(atX, x.from);
        loop(constant(y.copied()), [&](Value j) {
          Value atY = plus(start[1], times(j, y.between)),
                inY = isInside(atY, y.from);
          Value isRead = b.createOrFold<arith::AndIOp>(e.loc, inX, inY);
          Value row = plus(times(plus(times(image, x.from), atX), y.from), atY);
          Value to = plus(times(plus(times(i, y.copied()), j), z.copied()),
                          plane * x.copied() * y.copied() * z.copied());
          copyRow(plane, times(row, z.from), start[2], to, isRead);
        });
      });
  }
  Value isInside(Value at, int64_t size) {
    return b.createOrFold<arith::CmpIOp>(e.loc, arith::CmpIPredicate::ult, at,
                                         constant(size));
  }
  /// Copies a row to element `to`, with zeros outside of the image.
  void copyRow(int64_t plane, Value row, Value start, Value to, Value isRead) {
    const Axis &z = k.axes[2];
    Value none = constant(0), all = constant(z.copied()),
          low = smaller(larger(minus(none, start), none), all),
          high = smaller(larger(minus(constant(z.from), start), low), all);
    low = b.createOrFold<arith::SelectOp>(e.loc, isRead, low, none);
    high = b.createOrFold<arith::SelectOp>(e.loc, isRead, high, none);
    auto fill = [&](Value from, Value behind, auto value) {
      loop(from, behind, Loops::Between, [&](Value i) {
        Value at = times(plus(to, i), k.block),
              pixel = times(plus(row, plus(start, i)), k.sources);
        overChannels([&](Value c) {
          e.store(value(pixel, c), copy, plus(at, c), compute);
        });
      });
    };
    auto padding = [&](Value, Value) { return e.number(compute, 0); };
    fill(none, low, padding);
    fill(low, high, [&](Value pixel, Value c) {
      return e.load(inputs[0], plus(pixel, sourceOf(c, plane)), element);
    });
    fill(high, all, padding);
  }

  /// Offset of the filter's element for a channel of the result and tap 0.
  Value filterOf(Value c, int64_t plane) {
    Value out = plus(firstChannel, c), in = constant(plane);
    if (k.kind == ConvKernel::Data) {
      Value of = k.own > 1 ? b.createOrFold<arith::RemSIOp>(e.loc, out,
                                                            constant(k.own))
                           : constant(0);
      out = sourceOf(c, plane);
      in = of;
    }
    return plus(times(out, k.inputs * k.taps()),
                k.filtersLast ? in : times(in, k.taps()));
  }
  int64_t filterStep() const { return k.filtersLast ? k.inputs : 1; }
  int64_t slot(int64_t tap, int64_t plane) const {
    return (tap * k.planes() + plane) * k.block;
  }
  void copyFilter() {
    overChannels([&](Value c) {
      for (int64_t plane = 0; plane < k.planes(); ++plane) {
        Value from = filterOf(c, plane);
        for (int64_t tap = 0; tap < k.taps(); ++tap)
          e.store(e.load(inputs[1], plus(from, tap * filterStep()), element),
                  weights, plus(c, slot(tap, plane)), compute);
      }
    });
  }

  //===--- sums -----------------------------------------------------------===//

  /// Number of positions of this tile and phase.
  Value positions(size_t d) {
    const Axis &axis = k.axes[d];
    const int64_t all = axis.positions(phase[d]);
    if (axis.tiles() == 1)
      return constant(all);
    Value left = minus(constant(all), times(tile[d], axis.tile));
    return smaller(constant(axis.tile), larger(left, constant(0)));
  }
  /// Offset of the pixel at row (i, j) of the image that is written, or of dy.
  Value pixelOf(Value image, Value i, Value j, Value column) {
    Value at = image;
    const Value q[3] = {i, j, column};
    for (size_t d = 0; d < 3; ++d) {
      const Axis &axis = k.axes[d];
      Value place = plus(
          times(plus(times(tile[d], axis.tile), q[d]), axis.phases), phase[d]);
      at = plus(times(at, axis.to), place);
    }
    return at;
  }
  /// Adjacent outputs: offset of the first, of the copy's element at tap offset
  /// 0, their number; and how many of them are already done, null if none.
  struct Beside {
    Value pixel, copied;
    int64_t count;
    Value done;
  };
  /// Calls f(Beside) for the rows of a tile and the phases of columns, which
  /// alternate in a row, since they write adjacent pixels. The last outputs of
  /// a row begin earlier, so that they are as many as the others: a second loop
  /// body for the remainder would take as long to compile.
  void overTile(Value image, llvm::function_ref<void(const Beside &)> f) {
    const auto &[x, y, z] = k.axes;
    loop(positions(0), [&](Value i) {
      loop(positions(1), [&](Value j) {
        Value row = plus(times(times(i, x.step), y.copied()), times(j, y.step));
        auto beside = [&](Value column, int64_t n, Value done = {}) {
          Value at = plus(times(row, z.copied()), times(column, z.step));
          f({times(pixelOf(image, i, j, column), k.channels),
             times(at, k.block), n, done});
        };
        const int64_t fewest = z.positions(z.phases - 1);
        if (z.tiles() == 1 && fewest > 0)
          wholeRow(besideOf(z.positions(0), fewest), beside);
        else
          partOfRow(std::min(kBeside, z.tile), beside);
      });
    });
  }
  template <class F> void wholeRow(int64_t n, F beside) {
    const Axis &z = k.axes[2];
    loop(constant((z.positions(0) - 1) / n + 1), [&](Value g) {
      forEachPhase(2, [&] {
        const int64_t all = z.positions(phase[2]);
        Value first = times(g, n), column = smaller(first, constant(all - n));
        beside(column, n, all % n ? minus(first, column) : Value());
      });
    });
  }
  /// The same for a tile that may have fewer columns.
  template <class F> void partOfRow(int64_t n, F beside) {
    phase[2] = k.axes[2].phases - 1;
    Value groups =
        b.createOrFold<arith::DivSIOp>(e.loc, positions(2), constant(n));
    loop(groups,
         [&](Value g) { forEachPhase(2, [&] { beside(times(g, n), n); }); });
    forEachPhase(2, [&] {
      loop(times(groups, n), positions(2), Loops::Between,
           [&](Value column) { beside(column, 1); });
    });
  }
  /// An element of the copy, loaded once per loop body.
  struct Copied {
    Convolution &self;
    Value base;
    std::map<int64_t, Value> known;
    Value operator()(int64_t offset) {
      Value &v = known[offset];
      if (!v)
        v = self.e.load(self.copy, self.plus(base, offset), self.compute);
      return v;
    }
  };
  int64_t columnStep() const { return k.axes[2].step * k.block; }

  void writePhases(Value image) {
    overTile(image, [&](const Beside &beside) {
      const int64_t n = beside.count;
      overChannels([&](Value c) {
        // Two sums per output: a product waits for the sum before it.
        Values out, odd(n);
        Value channel = plus(firstChannel, c);
        for (int64_t i = 0; i < n; ++i)
          out.push_back(k.hasBias && i ? out.front()
                        : k.hasBias    ? e.load(inputs[2], channel, element)
                                       : Value());
        bool isOdd = false;
        Copied source{*this, plus(beside.copied, c), {}};
        for (int64_t plane = 0; plane < k.planes(); ++plane)
          forEachTap([&](int64_t tap, int64_t offset) {
            Value w = e.load(weights, plus(c, slot(tap, plane)), compute);
            offset += plane * copiedPlane();
            for (int64_t i = 0; i < n; ++i) {
              Value term = product(source(offset + i * columnStep()), w),
                    &to = (isOdd ? odd : out)[i];
              to = to ? sum(to, term) : term;
            }
            isOdd = !isOdd;
          });
        for (int64_t i = 0; i < n; ++i) {
          Value v = !out[i]  ? e.number(compute, 0)
                    : odd[i] ? sum(out[i], odd[i])
                             : out[i];
          e.store(v, output,
                  plus(plus(beside.pixel, i * k.axes[2].phases * k.channels),
                       channel),
                  element);
        }
      });
    });
  }

  /// Zero for the first elements, which have been added before.
  Value onlyOnce(const Beside &beside, int64_t i, Value v) {
    if (!beside.done || i == beside.count - 1)
      return v;
    Value isNew = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::sle,
                                        beside.done, constant(i));
    return arith::SelectOp::create(b, e.loc, isNew, v, e.number(compute, 0));
  }
  void addTile(Value image) {
    copyTile(image);
    overTile(image, [&](const Beside &beside) {
      const int64_t n = beside.count;
      overChannels([&](Value c) {
        Values dy;
        for (int64_t i = 0; i < n; ++i)
          dy.push_back(onlyOnce(beside, i,
                                e.load(inputs[1],
                                       plus(plus(beside.pixel, i * k.channels),
                                            plus(firstChannel, c)),
                                       element)));
        Copied source{*this, plus(beside.copied, c), {}};
        for (int64_t plane = 0; plane < k.planes(); ++plane)
          forEachTap([&](int64_t tap, int64_t offset) {
            offset += plane * copiedPlane();
            Value at = plus(c, slot(tap, plane)), term;
            for (int64_t i = 0; i < n; ++i) {
              Value one = product(source(offset + i * columnStep()), dy[i]);
              term = term ? sum(term, one) : one;
            }
            e.store(sum(e.load(sums, at, compute), term), sums, at, compute);
          });
      });
    });
  }
  /// Calls f(c, slot of a channel) for all sums of the filter.
  void overSums(llvm::function_ref<void(Value)> f) {
    loop(constant(tapsOfItem() * k.planes()), [&](Value i) {
      Value at = times(i, k.block);
      overChannels([&](Value c) { f(plus(at, c)); });
    });
  }
  void zero(Value array) {
    overSums(
        [&](Value at) { e.store(e.number(compute, 0), array, at, compute); });
  }
  /// Adds the sums of an image, so that each sum has few terms.
  void addSums() {
    overSums([&](Value at) {
      e.store(sum(e.load(weights, at, compute), e.load(sums, at, compute)),
              weights, at, compute);
    });
  }
  void storeFilter() {
    // The item's tap among all.
    Value first = constant(0);
    int64_t behind = 1;
    for (size_t d = 3; d-- > 0; behind *= k.axes[d].window.kernel)
      first = plus(first, times(part[d], behind));
    loop(width, [&](Value c) {
      for (int64_t plane = 0; plane < k.planes(); ++plane) {
        Value to = plus(filterOf(c, plane), times(first, filterStep()));
        for (int64_t tap = 0; tap < tapsOfItem(); ++tap)
          e.store(e.load(weights, plus(c, slot(tap, plane)), compute), output,
                  plus(to, tap * filterStep()), element);
      }
    });
  }

  const ConvKernel &k;
  ScalarEmitter &e;
  OpBuilder &b;
  Loops loops;
  ArrayRef<Value> inputs;
  Value output;
  Type element, compute;
  /// Arrays of a tile: [plane, d, h, w, channel] of the image; [tap, plane,
  /// channel] of the filter or its gradient, and of the gradient for one image.
  Value copy, weights, sums;
  Value firstChannel, width, part[3], tile[3];
  int64_t phase[3] = {};
};

} // namespace

void emitConvolution(const ConvKernel &k, ScalarEmitter &e,
                     ArrayRef<Value> inputs, Value output, Type element,
                     Value item, Block *entry) {
  Convolution(k, e, inputs, output, element, entry).emit(item);
}

} // namespace dlc
