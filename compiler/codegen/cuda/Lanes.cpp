#include "compiler/codegen/cuda/Lanes.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::cuda {

/// Bytes of the widest memory instruction.
constexpr int64_t kAccess = 16;

Lanes::Lanes(ScalarEmitter &e, const KernelGraph &graph,
             ArrayRef<LoopGroup> groups, ArrayRef<Value> at, int64_t width,
             int level)
    : e(e), graph(graph), groups(groups), at(at), level(level),
      memories(width) {
  auto noWrap =
      arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  indices.push_back(at.back());
  for (int64_t i = 1; i < width; ++i)
    indices.push_back(
        arith::AddIOp::create(e.b, e.loc, at.back(), e.constant(i), noWrap));
}
Lanes::Lanes(Lanes *around)
    : e(around->e), graph(around->graph), groups(around->groups),
      at(around->at), level(around->level), around(around),
      indices(around->indices), memories(around->memories.size()) {}

void Lanes::in(int64_t lane, llvm::function_ref<void()> f) {
  if (around) {
    return around->in(lane, [&] {
      ScalarEmitter::Scope scope(e, &memories[lane]);
      f();
    });
  }
  for (auto [group, value] : llvm::zip(groups.drop_back(), at))
    e.setLoop(group, value, level);
  e.setLoop(groups.back(), indices[lane], level);
  ScalarEmitter::Scope scope(e, &memories[lane]);
  f();
}
void Lanes::each(llvm::function_ref<void(int64_t)> f) {
  for (size_t i = 0; i < indices.size(); ++i)
    in(i, [&] { f(i); });
}
void Lanes::emit(const KernelNode *node) {
  each([&](int64_t) { e.emit(node); });
}

int64_t Lanes::contiguousAt(const IndexForm &form) const {
  return contiguous(graph, form, groups.back(), (int64_t)indices.size());
}

void Lanes::load(ArrayRef<const KernelNode *> roots, int level) {
  for (const KernelNode *node : plainLoads(roots)) {
    bool known = false;
    in(0, [&] { known = e.knows(node); });
    int64_t count = contiguousAt(node->index);
    if (!known && count > 1 && e.levelOf(node) <= level)
      loadAtOnce(node, count);
  }
}

void Lanes::loadAtOnce(const KernelNode *node, int64_t count) {
  OpBuilder &b = e.b;
  Type element = ir::elementType(node->value), storage = storageType(element);
  int64_t bytes = storageBytes(node->value);
  count = std::min(count, kAccess / bytes);
  auto type = VectorType::get({count}, storage);
  for (size_t lane = 0; lane < indices.size(); lane += count) {
    Value address;
    in(lane, [&] {
      address = e.element(e.pointer(node->value), e.emit(node->index), storage);
    });
    Value all = LLVM::LoadOp::create(b, e.loc, type, address, count * bytes);
    for (int64_t i = 0; i < count; ++i) {
      Value at = LLVM::ConstantOp::create(b, e.loc, b.getI32Type(), i);
      Value v = LLVM::ExtractElementOp::create(b, e.loc, all, at);
      memories[lane + i][node] = {e.fromStorage(v, element)};
    }
  }
}

void Lanes::store(const KernelOutput &o, Value pointer) {
  OpBuilder &b = e.b;
  Type element = ir::elementType(o.node->value), storage = storageType(element);
  int64_t bytes = storageBytes(o.node->value);
  SmallVector<Value> values;
  each([&](int64_t) { values.push_back(e.emit(o.node)); });
  int64_t count = std::min(contiguousAt(o.offset), kAccess / bytes);
  if (count == 1) {
    each([&](int64_t lane) {
      e.store(values[lane], pointer, e.emit(o.offset), element);
    });
    return;
  }
  for (size_t lane = 0; lane < indices.size(); lane += count) {
    bool half = ir::isHalf(element);
    Type part = half ? values[lane].getType() : storage;
    Value all = LLVM::UndefOp::create(b, e.loc, VectorType::get({count}, part));
    for (int64_t i = 0; i < count; ++i) {
      Value v = values[lane + i];
      Value at = LLVM::ConstantOp::create(b, e.loc, b.getI32Type(), i);
      all = LLVM::InsertElementOp::create(
          b, e.loc, all, half ? v : e.toStorage(v, element), at);
    }
    if (half)
      all = arith::TruncFOp::create(b, e.loc, VectorType::get({count}, element),
                                    all);
    Value address;
    in(lane, [&] { address = e.element(pointer, e.emit(o.offset), storage); });
    LLVM::StoreOp::create(b, e.loc, all, address, count * bytes);
  }
}

} // namespace dlc::cuda
