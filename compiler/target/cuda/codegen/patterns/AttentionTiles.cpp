// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/patterns/AttentionTiles.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace dlc::cuda {

/// 16-bit elements of shared memory, without the statistics.
constexpr int64_t kSharedHalves = (47 << 10) / 2;
/// Elements of one memory instruction.
constexpr int64_t kVector = 8;

/// Rows per streamed tile and pipeline stages, in order of preference.
constexpr std::pair<int64_t, int64_t> kChoices[] = {{32, 2}, {16, 2}, {16, 1}};

AttentionTiling::AttentionTiling(Operation *op, int64_t rows, int64_t slots)
    : dims(ir::AttentionDims::of(op)), rows(rows), slots(slots),
      resident(isa<ir::AttentionOp>(op) ? 1 : 2), streamed(2) {
  headsFirst = op->getAttrOfType<StringAttr>("layout").getValue() == "bhtd";
  scale = op->getAttrOfType<FloatAttr>("scale").getValueAsDouble();
  int64_t line = padded(std::max(dims.depth, dims.valueDepth)) + kPadding;
  residentElements = kRows * line;
  slotElements = rows * line;
}

bool AttentionTiling::fits() const {
  return resident * residentElements + slots * streamed * slotElements <=
         kSharedHalves;
}

AttentionTiling AttentionTiling::deciding(Operation *op) {
  for (auto [rows, slots] : kChoices)
    if (AttentionTiling tiling(op, rows, slots); tiling.fits())
      return tiling;
  auto [rows, slots] = *std::rbegin(kChoices);
  return AttentionTiling(op, rows, slots);
}

std::optional<AttentionTiling> AttentionTiling::of(Operation *op,
                                                   const exec::Tile &tile) {
  for (auto [rows, slots] : kChoices)
    if (AttentionTiling tiling(op, rows, slots);
        tiling.tile() == tile && tiling.fits())
      return tiling;
  return std::nullopt;
}

exec::Tile AttentionTiling::tile() const {
  exec::Tile t;
  t.sizes = {kRows, rows};
  t.down = kThreads / 32;
  t.slots = slots;
  return t;
}

int64_t AttentionTiling::blocks(bool overKeys) const {
  return dims.batch * dims.heads *
         llvm::divideCeil(overKeys ? dims.keys : dims.queries, kRows);
}

AttentionTiles::AttentionTiles(ScalarEmitter &e, Threads &t, Operation *op,
                               const AttentionTiling &tiling)
    : e(e), t(t), tiling(tiling), half(ir::elementType(op->getOperand(0))),
      core(e, t, half) {
  shared = t.shared(e.b.getI16Type(),
                    tiling.resident * tiling.residentElements +
                        tiling.slots * tiling.streamed * tiling.slotElements);
}

void AttentionTiles::place(bool overKeys) {
  const ir::AttentionDims &d = tiling.dims;
  thread = t.thread();
  Value lane = core.lane();
  warpRow = t.times(t.quotient(thread, 32), 16);
  laneRow = t.quotient(lane, 4);
  laneColumn = t.times(t.remainder(lane, 4), 2);
  int64_t tiles =
      llvm::divideCeil(overKeys ? d.keys : d.queries, AttentionTiling::kRows);
  Value block = t.block();
  first = t.times(t.remainder(block, tiles), AttentionTiling::kRows);
  head = t.quotient(block, tiles);
  batch = t.quotient(head, d.heads);
  headInBatch = t.remainder(head, d.heads);
}

AttentionTiles::Rows AttentionTiles::rowsOf(Value pointer, int64_t length,
                                            int64_t width) const {
  const int64_t heads = tiling.dims.heads;
  if (tiling.headsFirst)
    return {pointer, t.times(head, length * width), width, length, width};
  return {pointer,
          t.add(t.times(batch, length * heads * width),
                t.times(headInBatch, width)),
          heads * width, length, width};
}
AttentionTiles::Rows AttentionTiles::queries(Value p, int64_t width) const {
  return rowsOf(p, tiling.dims.queries, width);
}
AttentionTiles::Rows AttentionTiles::keys(Value p, int64_t width) const {
  return rowsOf(p, tiling.dims.keys, width);
}

//===--- movement ---------------------------------------------------------===//

Value AttentionTiles::at(Value offset) const {
  return e.element(shared, offset, e.b.getI16Type());
}

/// With zeros beyond the array's rows and width.
void AttentionTiles::copy(const Rows &rows, Value from, int64_t count,
                          Value to) {
  const int64_t line = AttentionTiling::padded(rows.width) / kVector,
                all = count * line, threads = AttentionTiling::kThreads,
                stride = AttentionTiling::padded(rows.width) +
                         AttentionTiling::kPadding;
  Type storage = e.b.getI16Type();
  for (int64_t i = 0; i < all; i += threads) {
    Value number = t.add(thread, e.constant(i)), r = t.quotient(number, line),
          column = t.times(t.remainder(number, line), kVector);
    t.where(i + threads > all ? t.isLess(number, all) : Value(), [&] {
      Value row = t.add(from, r), inside = t.isLess(row, rows.length);
      if (rows.width % 16)
        inside = t.both(inside, t.isLess(column, rows.width));
      Value source = t.add(
          rows.base, t.add(t.times(t.least(row, rows.length - 1), rows.stride),
                           t.least(column, rows.width - kVector)));
      Value place = t.add(t.times(r, stride), column);
      core.copy(e.element(to, place, storage),
                e.element(rows.pointer, source, storage), 2 * kVector, inside);
    });
  }
}

void AttentionTiles::keep(const Rows &rows, int64_t array) {
  copy(rows, first, AttentionTiling::kRows,
       at(e.constant(array * tiling.residentElements)));
}
SharedMatrix AttentionTiles::resident(int64_t array, int64_t width) const {
  return {at(e.constant(array * tiling.residentElements)),
          AttentionTiling::padded(width) + AttentionTiling::kPadding, true};
}

/// After the resident arrays.
Value AttentionTiles::slot(int64_t array, Value tile) const {
  Value number = t.remainder(tile, tiling.slots);
  int64_t before = tiling.resident * tiling.residentElements +
                   array * tiling.slots * tiling.slotElements;
  return at(t.add(t.times(number, tiling.slotElements), e.constant(before)));
}
SharedMatrix AttentionTiles::streamed(int64_t array, int64_t width, Value tile,
                                      bool overRows) const {
  return {slot(array, tile),
          AttentionTiling::padded(width) + AttentionTiling::kPadding,
          !overRows};
}

AttentionTiles::Values
AttentionTiles::stream(Value from, Value end, ArrayRef<Rows> arrays,
                       Values carried, llvm::function_ref<void(Value)> before,
                       llvm::function_ref<Values(Value, ValueRange)> body) {
  auto start = [&](Value tile) {
    for (auto [i, rows] : llvm::enumerate(arrays))
      copy(rows, t.times(tile, tiling.rows), tiling.rows,
           slot((int64_t)i, tile));
  };
  const bool ahead = tiling.slots > 1;
  if (ahead)
    t.where(isLess(from, end), [&] { start(from); });
  core.commit();
  auto loop = scf::ForOp::create(e.b, e.loc, from, end, e.constant(1), carried);
  OpBuilder::InsertionGuard guard(e.b);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  e.b.setInsertionPointToEnd(loop.getBody());
  ScalarEmitter::Scope scope(e);
  Value tile = loop.getInductionVar();
  if (ahead) {
    before(tile);
    core.wait(0);
    t.barrier();
    Value next = t.add(tile, e.constant(1));
    t.where(isLess(next, end), [&] { start(next); });
    core.commit();
  } else {
    t.barrier(); // the last tile has been read by all
    start(tile);
    core.commit();
    before(tile);
    core.wait(0);
    t.barrier();
  }
  scf::YieldOp::create(e.b, e.loc, body(tile, loop.getRegionIterArgs()));
  return loop.getResults();
}

void AttentionTiles::store(ValueRange sums, const Rows &rows) {
  core.wait(0);
  t.barrier();
  const int64_t stride = rows.width + AttentionTiling::kPadding;
  Type storage = e.b.getI16Type();
  for (int64_t c = 0; c < rows.width; c += 8)
    for (int64_t low : {0, 1}) {
      Value place = t.add(t.times(row(2 * low), stride),
                          t.add(laneColumn, e.constant(c)));
      size_t i = c / 2 + 2 * low;
      LLVM::StoreOp::create(e.b, e.loc, core.pack(sums[i], sums[i + 1]),
                            e.element(shared, place, storage), 4);
    }
  t.barrier();
  const int64_t line = rows.width / kVector,
                all = AttentionTiling::kRows * line,
                threads = AttentionTiling::kThreads;
  auto type = VectorType::get({kVector}, storage);
  for (int64_t i = 0; i < all; i += threads) {
    Value number = t.add(thread, e.constant(i)), r = t.quotient(number, line),
          column = t.times(t.remainder(number, line), kVector);
    Value to = t.add(first, r), valid = t.isLess(to, rows.length);
    if (i + threads > all)
      valid = t.both(valid, t.isLess(number, all));
    t.where(valid, [&] {
      Value vector = LLVM::LoadOp::create(
          e.b, e.loc, type,
          e.element(shared, t.add(t.times(r, stride), column), storage), 16);
      Value place = t.add(rows.base, t.add(t.times(to, rows.stride), column));
      LLVM::StoreOp::create(e.b, e.loc, vector,
                            e.element(rows.pointer, place, storage), 16);
    });
  }
}

//===--- products ---------------------------------------------------------===//

AttentionTiles::Values AttentionTiles::zeros(int64_t width) const {
  return Values(AttentionTiling::padded(width) / 2, f32(0));
}

void AttentionTiles::addProducts(Values &sums, int64_t column, ValueRange left,
                                 ArrayRef<Value> right) {
  for (int64_t i = 0; i < 2; ++i) {
    auto *sum = sums.begin() + (column / 8 + i) * 4;
    llvm::copy(core.multiply(left, right.slice(2 * i, 2),
                             ValueRange(ArrayRef(sum, 4))),
               sum);
  }
}

AttentionTiles::Values AttentionTiles::products(const SharedMatrix &kept,
                                                const SharedMatrix &tile,
                                                int64_t width) {
  Values sums(tiling.rows / 2, f32(0));
  for (int64_t d = 0; d < width; d += 16) {
    auto left = core.left(kept, warpRow, 0, d);
    for (int64_t c = 0; c < tiling.rows; c += 16) {
      auto right = core.right(tile, Value(), c, d);
      addProducts(sums, c, left, right);
    }
  }
  return sums;
}

/// The sums of two tiles of 8 columns are in the same registers as a left
/// operand of 16 columns.
AttentionTiles::Values AttentionTiles::accumulate(ValueRange carried,
                                                  ValueRange factors,
                                                  const SharedMatrix &tile,
                                                  int64_t width) {
  Values sums(carried);
  for (int64_t r = 0; r < tiling.rows; r += 16) {
    TensorCore::Registers left;
    for (int64_t i = 0; i < 8; i += 2)
      left.push_back(core.pack(factors[r / 2 + i], factors[r / 2 + i + 1]));
    for (int64_t c = 0; c < width; c += 16) {
      auto right = core.right(tile, Value(), c, r);
      addProducts(sums, c, left, right);
    }
  }
  return sums;
}

Value AttentionTiles::score(Value product, Value query, Value key) {
  const ir::AttentionDims &d = tiling.dims;
  Value s = times(product, f32(tiling.scale)), sees = t.isLess(key, d.keys);
  if (d.causal)
    sees = t.both(sees, arith::CmpIOp::create(
                            e.b, e.loc, arith::CmpIPredicate::ule, key, query));
  if (mask) {
    auto type = ir::tensorType(mask);
    Value index = e.constant(0),
          parts[] = {batch, headInBatch, t.least(query, d.queries - 1),
                     t.least(key, d.keys - 1)};
    int64_t stride = 1;
    for (int i = 3; i >= 0; --i) {
      if (type.getDimSize(i) > 1)
        index = t.add(index, t.times(parts[i], stride));
      stride *= type.getDimSize(i);
    }
    Value m = e.load(e.pointer(mask), index, type.getElementType());
    if (type.getElementType().isInteger(1))
      sees = t.both(sees, m);
    else if (m.getType().isF64())
      s = plus(s, arith::TruncFOp::create(e.b, e.loc, e.b.getF32Type(), m));
    else
      s = plus(s, m);
  }
  return t.choose(sees, s, f32(-INFINITY));
}

//===--- the thread's elements --------------------------------------------===//

Value AttentionTiles::row(int64_t i) const {
  return t.add(t.add(warpRow, laneRow), e.constant(i / 2 * 8));
}
Value AttentionTiles::column(int64_t i) const {
  return t.add(laneColumn, e.constant(i / 4 * 8 + i % 2));
}
Value AttentionTiles::minus(Value a, Value b) {
  return arith::SubFOp::create(e.b, e.loc, a, b);
}
Value AttentionTiles::times(Value a, Value b) {
  return arith::MulFOp::create(e.b, e.loc, a, b);
}
Value AttentionTiles::plus(Value a, Value b) {
  return arith::AddFOp::create(e.b, e.loc, a, b);
}
Value AttentionTiles::exp(Value x) {
  return math::ExpOp::create(e.b, e.loc, x);
}
Value AttentionTiles::f32(double value) const {
  return e.number(e.b.getF32Type(), value);
}
Value AttentionTiles::isLess(Value a, Value b) {
  return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::ult, a, b);
}

} // namespace dlc::cuda
