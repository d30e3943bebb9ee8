// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/threads/Body.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace dlc::cuda {

SmallVector<Value> Body::open(ArrayRef<LoopGroup> groups, Value number,
                              int level) const {
  SmallVector<Value> values(groups.size());
  for (size_t i = groups.size(); i-- > 0;) {
    values[i] = i ? threads.remainder(number, groups[i].size) : number;
    e.setLoop(groups[i], values[i], level);
    if (i)
      number = threads.quotient(number, groups[i].size);
  }
  return values;
}
void Body::open(ArrayRef<LoopGroup> groups, int level) const {
  for (const LoopGroup &group : groups)
    e.setLoop(group, Value(), level);
}

Body::States
Body::loop(int64_t count, ValueRange carried,
           llvm::function_ref<States(Value, ValueRange)> body) const {
  auto op = scf::ForOp::create(e.b, e.loc, e.constant(0), e.constant(count),
                               e.constant(1), carried);
  OpBuilder::InsertionGuard guard(e.b);
  if (!op.getBody()->empty())
    op.getBody()->back().erase();
  e.b.setInsertionPointToEnd(op.getBody());
  ScalarEmitter::Scope scope(e);
  scf::YieldOp::create(e.b, e.loc,
                       body(op.getInductionVar(), op.getRegionIterArgs()));
  return op.getResults();
}

Body::States Body::initial(ArrayRef<Reduction> all) const {
  States states;
  for (const Reduction &r : all)
    llvm::append_range(states, r.initial(e));
  return states;
}
Body::States Body::forEach(
    ArrayRef<Reduction> all, ValueRange states,
    llvm::function_ref<Reduction::State(const Reduction &, ValueRange)> f) {
  States next;
  for (const Reduction &r : all) {
    llvm::append_range(next, f(r, states.take_front(r.width())));
    states = states.drop_front(r.width());
  }
  return next;
}
Body::States Body::combine(ArrayRef<Reduction> all, ValueRange states) const {
  return forEach(all, states, [&](const Reduction &r, ValueRange s) {
    return r.combine(e, s);
  });
}
Body::States Body::merge(ArrayRef<Reduction> all, ValueRange a,
                         ValueRange b) const {
  return forEach(all, a, [&](const Reduction &r, ValueRange s) {
    auto merged = r.merge(e, s, b.take_front(r.width()));
    b = b.drop_front(r.width());
    return merged;
  });
}
void Body::setResults(ArrayRef<Reduction> all, ValueRange states) const {
  forEach(all, states, [&](const Reduction &r, ValueRange s) {
    e.set(r.node, r.result(e, s));
    return Reduction::State();
  });
}

} // namespace dlc::cuda
