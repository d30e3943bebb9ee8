// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/KernelLoops.h"
#include "compiler/dialect/Dlc.h"

using namespace mlir;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {

using Sizes = SmallVector<int64_t, 4>;

bool KernelLoops::fail(Operation *op, const Twine &message) {
  if (why.empty())
    why = (op->getName().getStringRef() + ": " + message).str();
  return false;
}

/// A contraction or reduction defines the rows, so it comes first; otherwise
/// the loops are those of any output.
bool KernelLoops::find(ArrayRef<Operation *> ops, ArrayRef<Value> outputs) {
  for (Operation *op : ops)
    if (auto product = dyn_cast<ir::MatmulOp>(op);
        product && !addContraction(product))
      return false;
  for (Operation *op : ops)
    if (auto reduction = dyn_cast<ir::ReductionInterface>(op);
        reduction && reducedCount(reduction) != 1) {
      if (!graph.reduces)
        addLoops(tensorType(op->getOperand(0)).getShape(),
                 reduction.reducedAxes());
      graph.reduces = true;
      if (isOverRows(reduction)) {
        overRows.insert(op);
        continue;
      }
      if (matchesLoops(reduction))
        continue;
      if (!isColumnSum(reduction, ops, outputs))
        return fail(op, "reductions of one cluster must run over the same "
                        "loops");
      columnSums.insert(op);
    }
  if (!graph.reduces && outputs.size()) {
    auto put = outputs.front().getDefiningOp<ir::PutRowsOp>();
    Value each =
        put && llvm::is_contained(ops, put) ? put.getValues() : outputs.front();
    addLoops(tensorType(each).getShape(), {});
  }
  for (unsigned v = 0; v < graph.variables.size(); ++v)
    (graph.variables[v].reduced ? reduced : kept).push_back(v);
  return true;
}

/// Loops over all dimensions of y, and over the contracted one.
bool KernelLoops::addContraction(ir::MatmulOp op) {
  if (graph.contraction.op)
    return fail(op, "one kernel has one product");
  if (op.getBias() || op.getActivation())
    return fail(op, "expected neither bias nor activation in a kernel");
  graph.contraction.op = op;
  graph.reduces = true;
  addLoops(tensorType(op.getY()).getShape(), {});
  auto last = [&](int64_t size) {
    return size == 1 ? -1 : (int)graph.variables.size() - 1;
  };
  auto y = tensorType(op.getY()).getShape().take_back(2);
  graph.contraction.column = last(y[1]);
  graph.contraction.row =
      y[0] == 1 ? -1 : (int)graph.variables.size() - 1 - (y[1] != 1);
  Ints a = tensorType(op.getA()).getShape().take_back(2);
  const int64_t depth = a[op.getTransA() ? 0 : 1];
  addLoops({depth}, {0});
  graph.contraction.depth = last(depth);
  return true;
}

int64_t KernelLoops::reducedCount(ir::ReductionInterface op) {
  int64_t n = 1;
  for (int64_t axis : op.reducedAxes())
    n *= tensorType(op->getOperand(0)).getDimSize(axis);
  return n;
}

/// Dimensions of size one have no loop, so shapes that differ only in these
/// share an index space.
void KernelLoops::addLoops(Ints shape, Ints axes) {
  for (auto [i, size] : llvm::enumerate(shape)) {
    const bool reduces = llvm::is_contained(axes, (int64_t)i);
    if (size != 1)
      graph.variables.push_back({KernelVariable::Loop, size, reduces, {}, 1});
  }
}

bool KernelLoops::matchesLoops(ir::ReductionInterface op) const {
  Sizes sizes[2], loops[2];
  for (auto [i, size] :
       llvm::enumerate(tensorType(op->getOperand(0)).getShape()))
    if (size != 1)
      sizes[llvm::is_contained(op.reducedAxes(), (int64_t)i)].push_back(size);
  for (const KernelVariable &v : graph.variables)
    loops[v.reduced].push_back(v.size);
  return sizes[0] == loops[0] && sizes[1] == loops[1];
}

/// Whether `op` reduces elements of the contraction's result over its rows.
bool KernelLoops::isOverRows(ir::ReductionInterface op) const {
  if (graph.contraction.row < 0 || op.combine() == ir::Combine::argmax)
    return false;
  int loop = 0;
  for (auto [i, size] :
       llvm::enumerate(tensorType(op->getOperand(0)).getShape())) {
    const bool reduces = llvm::is_contained(op.reducedAxes(), (int64_t)i);
    if (size == 1)
      continue;
    if (graph.variables[loop].size != size || graph.variables[loop].reduced ||
        reduces != (loop == graph.contraction.row))
      return false;
    if (++loop == (int)graph.variables.size())
      return graph.contraction.depth < 0;
  }
  return graph.variables[loop].reduced;
}

/// Whether `op` sums columns in a kernel that also reduces rows: over the last
/// kept loops, leaving at least one, and only outputs use it.
bool KernelLoops::isColumnSum(ir::ReductionInterface op,
                              ArrayRef<Operation *> ops,
                              ArrayRef<Value> outputs) const {
  if (graph.contraction.op || op.combine() != ir::Combine::sum ||
      !llvm::is_contained(outputs, op->getResult(0)) ||
      llvm::any_of(op->getUsers(),
                   [&](Operation *u) { return llvm::is_contained(ops, u); }))
    return false;
  SmallVector<bool> summed; // per loop
  Ints shape = tensorType(op->getOperand(0)).getShape();
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    const size_t loop = summed.size();
    if (loop == graph.variables.size() || graph.variables[loop].size != size)
      return false;
    summed.push_back(llvm::is_contained(op.reducedAxes(), (int64_t)i));
  }
  const size_t loops = graph.variables.size();
  auto count = [&](size_t from, bool sums, bool reduces) {
    size_t v = from;
    while (v < loops && summed[v] == sums &&
           graph.variables[v].reduced == reduces)
      ++v;
    return v;
  };
  if (summed.size() != loops)
    return false;
  const size_t first = count(0, false, false), rows = count(first, true, false);
  return first && first < rows && rows < loops &&
         count(rows, false, true) == loops;
}

} // namespace dlc
