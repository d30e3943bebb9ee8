// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/Threads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace dlc::cuda {

Value Threads::thread() {
  Value i = NVVM::ThreadIdXOp::create(e.b, e.loc, e.b.getI32Type());
  return e.resize(i, e.indexType);
}
Value Threads::block() {
  if (given)
    return given;
  Value i = NVVM::BlockIdXOp::create(e.b, e.loc, e.b.getI32Type());
  return e.resize(i, e.indexType);
}

Value Threads::exchangeWord(Value v, int64_t mask) {
  Type i32 = e.b.getI32Type();
  auto word = [&](int64_t x) {
    return LLVM::ConstantOp::create(e.b, e.loc, i32, x);
  };
  return NVVM::ShflOp::create(e.b, e.loc, v.getType(), word(-1), v, word(mask),
                              word(31), NVVM::ShflKind::bfly, UnitAttr());
}
Value Threads::exchangeOne(Value v, int64_t mask) {
  OpBuilder &b = e.b;
  Type type = v.getType(), i32 = b.getI32Type(), i64 = b.getI64Type();
  if (type.isF32() || type.isInteger(32))
    return exchangeWord(v, mask);
  if (type.getIntOrFloatBitWidth() < 32)
    return arith::TruncIOp::create(
        b, e.loc, type,
        exchangeWord(arith::ExtUIOp::create(b, e.loc, i32, v), mask));
  if (type.isF64())
    return arith::BitcastOp::create(
        b, e.loc, type,
        exchangeOne(arith::BitcastOp::create(b, e.loc, i64, v), mask));
  Value half = arith::ConstantOp::create(b, e.loc, b.getI64IntegerAttr(32));
  Value low = arith::TruncIOp::create(b, e.loc, i32, v);
  Value high = arith::TruncIOp::create(
      b, e.loc, i32, arith::ShRUIOp::create(b, e.loc, v, half));
  auto wide = [&](Value word) {
    return arith::ExtUIOp::create(b, e.loc, i64, exchangeWord(word, mask));
  };
  Value top = arith::ShLIOp::create(b, e.loc, wide(high), half);
  return arith::OrIOp::create(b, e.loc, wide(low), top);
}
Threads::Values Threads::exchange(ValueRange values, int64_t mask) {
  Values others;
  for (Value v : values)
    others.push_back(exchangeOne(v, mask));
  return others;
}

Value Threads::ballot(Value condition) {
  Type i32 = e.b.getI32Type();
  Value all = LLVM::ConstantOp::create(e.b, e.loc, i32, -1);
  return NVVM::VoteSyncOp::create(e.b, e.loc, i32, all, condition,
                                  NVVM::VoteSyncKind::ballot);
}

void Threads::barrier() { NVVM::Barrier0Op::create(e.b, e.loc); }

Value Threads::shared(Type element, int64_t count) {
  Type storage = storageType(element);
  OpBuilder &b = e.b;
  LLVM::GlobalOp array;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    array = LLVM::GlobalOp::create(
        b, e.loc, LLVM::LLVMArrayType::get(storage, count),
        /*isConstant=*/false, LLVM::Linkage::Internal,
        (kernel + ".shared" + Twine(arrays++)).str(), Attribute(),
        /*alignment=*/16, kSharedSpace);
  }
  return LLVM::AddressOfOp::create(b, e.loc, array);
}

/// Counters start at zero when the module is loaded and wrap to zero at the
/// last block, for the next launch: launches of one kernel on a device are
/// sequential. The barrier and the first fence order the stores of the block's
/// threads before its ticket; the second fence orders those of other blocks
/// before the reads of the last block.
Value Threads::comesLast(Value group, int64_t groups, int64_t blocks) {
  OpBuilder &b = e.b;
  Type i32 = b.getI32Type();
  auto word = [&](int64_t v) -> Value {
    return LLVM::ConstantOp::create(b, e.loc, i32, v);
  };
  auto fence = [&] {
    LLVM::FenceOp::create(b, e.loc, LLVM::AtomicOrdering::acq_rel, "device");
  };
  LLVM::GlobalOp tickets;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    tickets = LLVM::GlobalOp::create(
        b, e.loc, LLVM::LLVMArrayType::get(i32, groups), /*isConstant=*/false,
        LLVM::Linkage::Internal, (kernel + ".tickets").str(),
        DenseElementsAttr::get(RankedTensorType::get({groups}, i32), 0),
        /*alignment=*/4, kGlobalSpace);
  }
  Value isLast = shared(i32, 1), none = e.constant(0);
  barrier();
  where(isZero(thread()), [&] {
    fence();
    Value place =
        e.element(LLVM::AddressOfOp::create(b, e.loc, tickets), group, i32);
    Value before = LLVM::AtomicRMWOp::create(
        b, e.loc, LLVM::AtomicBinOp::uinc_wrap, place, word(blocks - 1),
        LLVM::AtomicOrdering::monotonic, "device");
    Value is = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::eq, before,
                                     word(blocks - 1));
    fence();
    e.store(arith::ExtUIOp::create(b, e.loc, i32, is), isLast, none, i32);
  });
  barrier();
  return arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::ne,
                               e.load(isLast, none, i32), word(0));
}

static constexpr auto kNoWrap =
    arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;

Value Threads::add(Value a, Value b) {
  return arith::AddIOp::create(e.b, e.loc, a, b, kNoWrap);
}
Value Threads::times(Value a, int64_t b) {
  return b == 1 ? a
                : Value(arith::MulIOp::create(e.b, e.loc, a, e.constant(b),
                                              kNoWrap));
}
Value Threads::quotient(Value a, int64_t b) {
  return b == 1 ? a
                : Value(arith::DivUIOp::create(e.b, e.loc, a, e.constant(b)));
}
Value Threads::remainder(Value a, int64_t b) {
  return arith::RemUIOp::create(e.b, e.loc, a, e.constant(b));
}
Value Threads::least(Value a, int64_t b) {
  return arith::MinUIOp::create(e.b, e.loc, a, e.constant(b));
}
Value Threads::isLess(Value a, int64_t b) { return isLess(a, e.constant(b)); }
Value Threads::isLess(Value a, Value b) {
  return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::ult, a, b);
}
Value Threads::isZero(Value a) { return isLess(a, 1); }
Value Threads::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(e.b, e.loc, a, b);
}
Value Threads::choose(Value condition, Value a, Value b) {
  return arith::SelectOp::create(e.b, e.loc, condition, a, b);
}

void Threads::where(Value condition, llvm::function_ref<void()> body) {
  e.where(condition, body);
}

} // namespace dlc::cuda
