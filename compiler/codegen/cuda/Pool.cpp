// Pooling and its gradients: a thread has one element and goes over its window,
// or over the windows that it lies in. Values of halves are f32.
#include "compiler/codegen/cuda/Calls.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;

namespace dlc::cuda {
namespace {

constexpr int64_t kThreads = 256;

using Values = Threads::Values;

/// One spatial dimension of a window.
struct Side {
  int64_t in, out, kernel, stride, dilation, before, after;
};

/// The element of an image that a thread has.
struct Place {
  Value image, channel, row, column;
};

template <class OpTy> class Pool {
public:
  /// `x` and `y`: before and after pooling, or the gradients of these.
  Pool(OpTy op, Value x, Value y)
      : op(op), nhwc(op.getLayout() == "nhwc"),
        channels(ir::tensorType(x).getDimSize(nhwc ? 3 : 1)),
        rows(side(op, 0, x, y)), columns(side(op, 1, x, y)) {}

  OpTy op;
  bool nhwc;
  int64_t channels;
  Side rows, columns;

private:
  static Side side(OpTy op, int d, Value x, Value y) {
    int first = op.getLayout() == "nhwc" ? 1 : 2;
    auto size = [&](Value v) {
      return ir::tensorType(v).getDimSize(first + d);
    };
    return {size(x),
            size(y),
            op.getKernel()[d],
            op.getStrides()[d],
            op.getDilations()[d],
            op.getPads()[d],
            op.getPads()[d + 2]};
  }
};

template <class OpTy> class PoolEmitter : Pool<OpTy> {
public:
  using Pool<OpTy>::op, Pool<OpTy>::nhwc, Pool<OpTy>::channels,
      Pool<OpTy>::rows, Pool<OpTy>::columns;

  PoolEmitter(const Pool<OpTy> &pool, ScalarEmitter &e, Threads &t)
      : Pool<OpTy>(pool), e(e), t(t), b(e.b), loc(e.loc) {}

  /// Runs `body` for the element of `image` that the thread has.
  void forEachElement(Value image, int64_t Side::*size,
                      llvm::function_ref<void(Value, const Place &)> body) {
    int64_t height = rows.*size, width = columns.*size;
    Value number = t.add(t.times(t.block(), kThreads), t.thread());
    t.where(t.isLess(number, ir::tensorType(image).getNumElements()), [&] {
      SmallVector<int64_t, 3> inner =
          nhwc ? SmallVector<int64_t, 3>{height, width, channels}
               : SmallVector<int64_t, 3>{channels, height, width};
      Value rest = number;
      Value parts[3];
      for (int d = 2; d >= 0; --d) {
        parts[d] = t.remainder(rest, inner[d]);
        rest = t.quotient(rest, inner[d]);
      }
      body(number, nhwc ? Place{rest, parts[2], parts[0], parts[1]}
                        : Place{rest, parts[0], parts[1], parts[2]});
    });
  }
  /// The element of an image of height x width at `p`, but in another row and
  /// column.
  Value index(const Place &p, Value row, Value column, int64_t height,
              int64_t width) {
    auto join = [&](Value high, int64_t size, Value low) {
      return t.add(t.times(high, size), low);
    };
    return nhwc ? join(join(join(p.image, height, row), width, column),
                       channels, p.channel)
                : join(join(join(p.image, channels, p.channel), height, row),
                       width, column);
  }

  /// Over the taps of a window, first to last or back: state' = body(kh, kw,
  /// state).
  Values overTaps(bool backwards, ValueRange state,
                  llvm::function_ref<Values(Value, Value, ValueRange)> body) {
    auto count = [&](const Side &side, Value k) {
      return backwards ? sub(e.constant(side.kernel - 1), k) : k;
    };
    return loop(rows.kernel, state, [&](Value i, ValueRange outer) {
      return loop(columns.kernel, outer, [&](Value j, ValueRange inner) {
        return body(count(rows, i), count(columns, j), inner);
      });
    });
  }
  Values loop(int64_t count, ValueRange state,
              llvm::function_ref<Values(Value, ValueRange)> body) {
    auto f = scf::ForOp::create(b, loc, e.constant(0), e.constant(count),
                                e.constant(1), state);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(f.getBody());
    scf::YieldOp::create(b, loc,
                         body(f.getInductionVar(), f.getRegionIterArgs()));
    return Values(f.getResults());
  }
  /// `state` where `condition` does not hold.
  Values update(Value condition, ValueRange state,
                llvm::function_ref<Values()> body) {
    auto branch = scf::IfOp::create(b, loc, state.getTypes(), condition,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, body());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, state);
    return Values(branch.getResults());
  }

  /// The element of x that tap k of output o reads; and whether there is one.
  Value read(const Side &s, Value o, Value k) {
    return sub(t.add(t.times(o, s.stride), t.times(k, s.dilation)),
               e.constant(s.before));
  }
  Value isInside(const Side &s, Value i) { return t.isLess(i, s.in); }
  /// The output whose tap k reads element i; and whether there is one.
  Value reader(const Side &s, Value i, Value k, Value &exists) {
    Value at = sub(t.add(i, e.constant(s.before)), t.times(k, s.dilation));
    Value whole = arith::DivSIOp::create(b, loc, at, e.constant(s.stride));
    Value back = arith::MulIOp::create(b, loc, whole, e.constant(s.stride));
    // Unsigned, what is negative is large.
    exists = t.both(exists, t.both(compare(arith::CmpIPredicate::eq, back, at),
                                   t.isLess(whole, s.out)));
    return whole;
  }

  /// How many taps of output o count for the mean.
  Value counted(const Side &s, Value o, Type type) requires requires(OpTy op) {
    op.getCountIncludePad();
  }
  {
    bool all = op.getCountIncludePad();
    Value zero = e.number(type, 0);
    return loop(s.kernel, zero, [&](Value k, ValueRange sum) -> Values {
      Value at = t.add(t.times(o, s.stride), t.times(k, s.dilation));
      Value counts = all ? t.isLess(at, s.in + s.before + s.after)
                         : isInside(s, sub(at, e.constant(s.before)));
      Value one = t.choose(counts, e.number(type, 1), zero);
      return {add(sum[0], one)};
    })[0];
  }
  Value divisor(Value row, Value column, Type type) {
    return arith::MulFOp::create(b, loc, counted(rows, row, type),
                                 counted(columns, column, type));
  }

  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value divide(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value compare(arith::CmpIPredicate p, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, p, x, y);
  }
  Value compare(arith::CmpFPredicate p, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, p, x, y);
  }
  /// The number of a tap, in the type of positions.
  Value position(Value kh, Value kw) {
    return e.resize(t.add(t.times(kh, columns.kernel), kw), b.getI32Type());
  }

  ScalarEmitter &e;
  Threads &t;
  OpBuilder &b;
  Location loc;
};

Type elementOf(Value v) { return ir::tensorType(v).getElementType(); }

Launch launchPool(Operation *op) {
  Value y = op->getResult(0);
  return {(ir::tensorType(y).getNumElements() + kThreads - 1) / kThreads,
          kThreads};
}

void emitMaxPool(Operation *any, ScalarEmitter &e, Threads &t,
                 ValueRange pointers) {
  auto op = cast<ir::MaxPoolOp>(any);
  PoolEmitter p(Pool(op, op.getX(), op.getY()), e, t);
  Type type = elementOf(op.getX()), compute = computeType(type),
       i32 = e.b.getI32Type(), i8 = e.b.getI8Type();
  p.forEachElement(op.getY(), &Side::out, [&](Value number, const Place &at) {
    Value none = e.number(i32, -1);
    Value least = e.number(compute, -std::numeric_limits<double>::infinity());
    auto step = [&](Value kh, Value kw, ValueRange state) {
      Value row = p.read(p.rows, at.row, kh),
            column = p.read(p.columns, at.column, kw);
      Value inside =
          t.both(p.isInside(p.rows, row), p.isInside(p.columns, column));
      return p.update(inside, state, [&]() -> Values {
        Value v =
            e.load(pointers[0],
                   p.index(at, row, column, p.rows.in, p.columns.in), type);
        using F = arith::CmpFPredicate;
        // Larger, or NaN, or the first.
        Value better = arith::OrIOp::create(
            e.b, e.loc, p.compare(F::OGT, v, state[0]),
            arith::OrIOp::create(
                e.b, e.loc, p.compare(F::UNO, v, v),
                p.compare(arith::CmpIPredicate::eq, state[1], none)));
        return {t.choose(better, v, state[0]),
                t.choose(better, p.position(kh, kw), state[1])};
      });
    };
    Values best = p.overTaps(false, {least, none}, step);
    Value where = t.choose(p.compare(arith::CmpIPredicate::eq, best[1], none),
                           e.number(i32, 0), best[1]);
    e.store(best[0], pointers[1], number, type);
    e.store(e.resize(where, i8), pointers[2], number, i8);
  });
}

void emitMaxPoolBackward(Operation *any, ScalarEmitter &e, Threads &t,
                         ValueRange pointers) {
  auto op = cast<ir::MaxPoolBackwardOp>(any);
  PoolEmitter p(Pool(op, op.getDx(), op.getDy()), e, t);
  Type type = elementOf(op.getDy()), compute = computeType(type),
       i8 = e.b.getI8Type(), to = elementOf(op.getDx());
  p.forEachElement(op.getDx(), &Side::in, [&](Value number, const Place &at) {
    Value zero = e.number(compute, 0);
    auto step = [&](Value kh, Value kw, ValueRange state) {
      Value exists;
      Value row = p.reader(p.rows, at.row, kh, exists),
            column = p.reader(p.columns, at.column, kw, exists);
      return p.update(exists, state, [&]() -> Values {
        Value from = p.index(at, row, column, p.rows.out, p.columns.out);
        Value chosen =
            p.compare(arith::CmpIPredicate::eq, e.load(pointers[1], from, i8),
                      e.resize(p.position(kh, kw), i8));
        Value dy = e.load(pointers[0], from, type);
        return {p.add(state[0], t.choose(chosen, dy, zero))};
      });
    };
    e.store(p.overTaps(true, zero, step)[0], pointers[2], number, to);
  });
}

void emitAvgPool(Operation *any, ScalarEmitter &e, Threads &t,
                 ValueRange pointers) {
  auto op = cast<ir::AvgPoolOp>(any);
  PoolEmitter p(Pool(op, op.getX(), op.getY()), e, t);
  Type type = elementOf(op.getX()), compute = computeType(type);
  p.forEachElement(op.getY(), &Side::out, [&](Value number, const Place &at) {
    auto step = [&](Value kh, Value kw, ValueRange state) {
      Value row = p.read(p.rows, at.row, kh),
            column = p.read(p.columns, at.column, kw);
      Value inside =
          t.both(p.isInside(p.rows, row), p.isInside(p.columns, column));
      return p.update(inside, state, [&]() -> Values {
        Value from = p.index(at, row, column, p.rows.in, p.columns.in);
        return {p.add(state[0], e.load(pointers[0], from, type))};
      });
    };
    Value sum = p.overTaps(false, e.number(compute, 0), step)[0];
    e.store(p.divide(sum, p.divisor(at.row, at.column, compute)), pointers[1],
            number, type);
  });
}

void emitAvgPoolBackward(Operation *any, ScalarEmitter &e, Threads &t,
                         ValueRange pointers) {
  auto op = cast<ir::AvgPoolBackwardOp>(any);
  PoolEmitter p(Pool(op, op.getDx(), op.getDy()), e, t);
  Type type = elementOf(op.getDy()), compute = computeType(type),
       to = elementOf(op.getDx());
  p.forEachElement(op.getDx(), &Side::in, [&](Value number, const Place &at) {
    auto step = [&](Value kh, Value kw, ValueRange state) {
      Value exists;
      Value row = p.reader(p.rows, at.row, kh, exists),
            column = p.reader(p.columns, at.column, kw, exists);
      return p.update(exists, state, [&]() -> Values {
        Value from = p.index(at, row, column, p.rows.out, p.columns.out);
        Value dy = e.load(pointers[0], from, type);
        return {p.add(state[0], p.divide(dy, p.divisor(row, column, compute)))};
      });
    };
    e.store(p.overTaps(true, e.number(compute, 0), step)[0], pointers[1],
            number, to);
  });
}

} // namespace

CallKernel maxPoolKernel() { return {"max_pool", launchPool, emitMaxPool}; }
CallKernel maxPoolBackwardKernel() {
  return {"max_pool_backward", launchPool, emitMaxPoolBackward};
}
CallKernel avgPoolKernel() { return {"avg_pool", launchPool, emitAvgPool}; }
CallKernel avgPoolBackwardKernel() {
  return {"avg_pool_backward", launchPool, emitAvgPoolBackward};
}

} // namespace dlc::cuda
