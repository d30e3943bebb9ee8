// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/TensorCore.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace dlc::cuda {

TensorCore::TensorCore(ScalarEmitter &e, Threads &t, Type half)
    : e(e), t(t), half(half) {}

Value TensorCore::lane() { return t.remainder(t.thread(), 32); }

static SmallVector<Value, 4> unpack(ScalarEmitter &e, Value all, int64_t n) {
  SmallVector<Value, 4> parts;
  for (int64_t i = 0; i < n; ++i)
    parts.push_back(LLVM::ExtractValueOp::create(e.b, e.loc, all, i));
  return parts;
}
static Type structOf(OpBuilder &b, Type part) {
  return LLVM::LLVMStructType::getLiteral(b.getContext(),
                                          SmallVector<Type>(4, part));
}

TensorCore::Registers TensorCore::left(const SharedMatrix &m, Value outer,
                                       int64_t moreOuter, int64_t depth) {
  return load(m, outer, moreOuter, depth, true);
}
TensorCore::Registers TensorCore::right(const SharedMatrix &m, Value outer,
                                        int64_t moreOuter, int64_t depth) {
  return load(m, outer, moreOuter, depth, false);
}

/// Loads four 8 x 8 matrices; thread i gives the address of line i % 8 of
/// matrix i / 8. They are halves of the fragment: first by rows for a left
/// operand, first by depth for a right one. Threads need lines along depth;
/// otherwise the load transposes.
TensorCore::Registers TensorCore::load(const SharedMatrix &m, Value outer,
                                       int64_t moreOuter, int64_t depth,
                                       bool isLeft) {
  Value lane = this->lane(), line = t.remainder(lane, 8),
        first = t.remainder(t.quotient(lane, 8), 2),
        second = t.quotient(lane, 16);
  Value outerHalf = isLeft ? first : second,
        depthHalf = isLeft ? second : first;
  Value at = e.constant(m.depthIsFast ? moreOuter * m.stride + depth
                                      : depth * m.stride + moreOuter);
  if (outer)
    at = t.add(at, t.times(outer, m.depthIsFast ? m.stride : 1));
  Value lines = t.add(t.times(m.depthIsFast ? outerHalf : depthHalf, 8), line),
        along = t.times(m.depthIsFast ? depthHalf : outerHalf, 8);
  at = t.add(at, t.add(t.times(lines, m.stride), along));
  Type i32 = e.b.getI32Type();
  auto layout = m.depthIsFast ? NVVM::MMALayout::row : NVVM::MMALayout::col;
  auto shape = NVVM::LdStMatrixShapeAttr::get(e.b.getContext(), 8, 8);
  Value all = NVVM::LdMatrixOp::create(
      e.b, e.loc, structOf(e.b, i32), e.element(m.base, at, e.b.getI16Type()),
      4, layout, shape, NVVM::LdStMatrixEltType::B16);
  return unpack(e, all, 4);
}

TensorCore::Registers TensorCore::multiply(ValueRange a, ValueRange b,
                                           ValueRange sums) {
  auto type = half.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  auto typed = [&](ValueRange registers) {
    SmallVector<Value> all(registers);
    if (half.isBF16())
      return all;
    for (Value &v : all)
      v = LLVM::BitcastOp::create(e.b, e.loc, VectorType::get({2}, half), v);
    return all;
  };
  Value all = NVVM::MmaOp::create(
      e.b, e.loc, structOf(e.b, e.b.getF32Type()), typed(a), typed(b), sums,
      ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt,
      std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  return unpack(e, all, 4);
}

Value TensorCore::pack(Value low, Value high) {
  OpBuilder &b = e.b;
  Value pair =
      LLVM::UndefOp::create(b, e.loc, VectorType::get({2}, b.getF32Type()));
  for (int64_t i : {0, 1}) {
    Value at = LLVM::ConstantOp::create(b, e.loc, b.getI32Type(), i);
    pair = LLVM::InsertElementOp::create(b, e.loc, pair, i ? high : low, at);
  }
  Value halves =
      arith::TruncFOp::create(b, e.loc, VectorType::get({2}, half), pair);
  return LLVM::BitcastOp::create(b, e.loc, b.getI32Type(), halves);
}

void TensorCore::copy(Value to, Value from, int64_t bytes, Value inside) {
  OpBuilder &b = e.b;
  Value size;
  if (inside) {
    auto number = [&](int64_t n) {
      return arith::ConstantOp::create(b, e.loc, b.getI32IntegerAttr(n));
    };
    size = arith::SelectOp::create(b, e.loc, inside, number(bytes), number(0));
  }
  NVVM::CpAsyncOp::create(b, e.loc, to, from, bytes,
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA,
                          size);
}
void TensorCore::commit() { NVVM::CpAsyncCommitGroupOp::create(e.b, e.loc); }
void TensorCore::wait(int64_t groups) {
  NVVM::CpAsyncWaitGroupOp::create(e.b, e.loc, groups);
}

} // namespace dlc::cuda
