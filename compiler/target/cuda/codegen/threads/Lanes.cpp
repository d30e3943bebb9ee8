// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/Lanes.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace dlc::cuda {

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
  auto wanted = [&](const KernelNode *node) {
    bool known = false;
    in(0, [&] { known = e.knows(node); });
    return !known && e.levelOf(node) <= level;
  };
  for (const KernelNode *node : plainLoads(roots))
    if (int64_t count = together(node); count > 1 && wanted(node))
      loadAtOnce(node, count);
  for (const Guarded &g : guardedLoads(graph, roots, groups.back())) {
    if (!wanted(g.node))
      continue;
    if (g.pads.size() > 1)
      computeGuarded(g);
    else if (int64_t count = together(g.node->children.front()); count > 1)
      loadGuarded(g.node, count);
  }
}
int64_t Lanes::together(const KernelNode *load) const {
  return std::min(contiguousAt(load->index),
                  kAccess / storageBytes(load->value));
}

void Lanes::loadAtOnce(const KernelNode *node, int64_t count) {
  spread(node, vectors(node, count), count);
}

/// A vector is either inside or outside as a whole.
void Lanes::loadGuarded(const KernelNode *pad, int64_t count) {
  const KernelNode *load = pad->children.front();
  if (pad->bounds.empty())
    return spread(pad, vectors(load, count), count);
  Type type =
      VectorType::get({count}, storageType(ir::elementType(load->value)));
  Value inside;
  in(0, [&] { inside = e.within(pad->bounds); });
  auto branch = scf::IfOp::create(
      e.b, e.loc, SmallVector<Type>(indices.size() / count, type), inside,
      /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(e.b, e.loc, vectors(load, count));
  e.b.setInsertionPointToEnd(branch.elseBlock());
  Value outside = e.storedPad(pad);
  Value all = LLVM::UndefOp::create(e.b, e.loc, type);
  for (int64_t i = 0; i < count; ++i) {
    Value at = LLVM::ConstantOp::create(e.b, e.loc, e.b.getI32Type(), i);
    all = LLVM::InsertElementOp::create(e.b, e.loc, all, outside, at);
  }
  scf::YieldOp::create(e.b, e.loc,
                       SmallVector<Value>(indices.size() / count, all));
  e.b.setInsertionPointAfter(branch);
  spread(pad, branch.getResults(), count);
}

/// Its loads and everything computed from them are in one branch.
void Lanes::computeGuarded(const Guarded &g) {
  Value inside;
  in(0, [&] { inside = e.within(g.pads.front()->bounds); });
  Type type = computeType(ir::elementType(g.node->value));
  auto branch =
      scf::IfOp::create(e.b, e.loc, SmallVector<Type>(indices.size(), type),
                        inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  auto compute = [&](Block *block, auto setPad) {
    e.b.setInsertionPointToEnd(block);
    Lanes lanes(this);
    for (const KernelNode *pad : g.pads)
      setPad(lanes, pad);
    SmallVector<Value> values;
    lanes.each([&](int64_t) { values.push_back(e.emit(g.node)); });
    scf::YieldOp::create(e.b, e.loc, values);
  };
  compute(branch.thenBlock(), [&](Lanes &lanes, const KernelNode *pad) {
    const KernelNode *load = pad->children.front();
    if (int64_t count = together(load); count > 1)
      lanes.spread(pad, lanes.vectors(load, count), count);
    else
      lanes.each([&](int64_t) { e.set(pad, e.emit(load)); });
  });
  compute(branch.elseBlock(), [&](Lanes &lanes, const KernelNode *pad) {
    lanes.each([&](int64_t) {
      e.set(pad, e.fromStorage(e.storedPad(pad), ir::elementType(pad->value)));
    });
  });
  // Adding 0 preserves a sum (the sign of a zero is irrelevant), so additions
  // can stay outside of the branch, which saves registers for their terms.
  for (Value v : branch.elseYield().getOperands())
    if (auto add = v.getDefiningOp<arith::AddFOp>())
      add.setFastmath(arith::FastMathFlags::nsz);
  for (auto [memory, value] : llvm::zip(memories, branch.getResults()))
    memory[g.node] = {value};
}

SmallVector<Value> Lanes::vectors(const KernelNode *load, int64_t count) {
  Type storage = storageType(ir::elementType(load->value));
  auto type = VectorType::get({count}, storage);
  SmallVector<Value> all;
  for (size_t lane = 0; lane < indices.size(); lane += count) {
    Value address;
    in(lane, [&] {
      address = e.element(e.pointer(load->value), e.emit(load->index), storage);
    });
    all.push_back(LLVM::LoadOp::create(e.b, e.loc, type, address,
                                       count * storageBytes(load->value)));
  }
  return all;
}

void Lanes::spread(const KernelNode *node, ValueRange vectors, int64_t count) {
  for (auto [k, all] : llvm::enumerate(vectors))
    for (auto [i, v] : llvm::enumerate(elementsOf(all, node, count)))
      memories[k * count + i][node] = {v};
}
SmallVector<Value> Lanes::elementsOf(Value all, const KernelNode *node,
                                     int64_t count) {
  OpBuilder &b = e.b;
  Type element = ir::elementType(node->value), i32 = b.getI32Type();
  auto at = [&](Value vector, int64_t i) -> Value {
    Value index = LLVM::ConstantOp::create(b, e.loc, i32, i);
    return LLVM::ExtractElementOp::create(b, e.loc, vector, index);
  };
  SmallVector<Value> elements;
  if (!element.isBF16() || count % 2) {
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(e.fromStorage(at(all, i), element));
    return elements;
  }
  // A bf16 is the upper half of an f32: one instruction each, where converting
  // the upper one of a pair takes two.
  auto number = [&](uint32_t n) {
    return LLVM::ConstantOp::create(b, e.loc, i32, b.getI32IntegerAttr(n));
  };
  Value bits = number(16), upper = number(0xffff0000u);
  Value pairs =
      LLVM::BitcastOp::create(b, e.loc, VectorType::get({count / 2}, i32), all);
  for (int64_t i = 0; i < count / 2; ++i) {
    Value pair = at(pairs, i);
    for (Value half : {Value(LLVM::ShlOp::create(b, e.loc, pair, bits)),
                       Value(LLVM::AndOp::create(b, e.loc, pair, upper))})
      elements.push_back(
          LLVM::BitcastOp::create(b, e.loc, b.getF32Type(), half));
  }
  return elements;
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
      Value at = e.emit(o.offset);
      e.where(e.isStored(o),
              [&] { e.store(values[lane], pointer, at, element); });
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
    Value address, exists;
    in(lane, [&] {
      address = e.element(pointer, e.emit(o.offset), storage);
      exists = e.isStored(o);
    });
    e.where(exists, [&] {
      LLVM::StoreOp::create(b, e.loc, all, address, count * bytes);
    });
  }
}

} // namespace dlc::cuda
