// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/kernel/KernelForms.h"
#include "compiler/kernel/KernelGraph.h"
#include "compiler/kernel/KernelLoops.h"
#include <map>

using namespace mlir;
using dlc::ir::elementType;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {
namespace {

/// A value read at several indices has a node for each: without a limit, nested
/// slices and concats would double the nodes at every op.
constexpr size_t kMaxNodes = 20000;

int64_t product(Ints sizes) {
  int64_t n = 1;
  for (int64_t s : sizes)
    n *= s;
  return n;
}

class Builder {
public:
  Builder(KernelGraph &graph, std::string &why)
      : graph(graph), loops(graph, why), forms(graph), why(why) {}

  bool run(ArrayRef<Operation *> ops, ArrayRef<Value> outputs) {
    inside.insert(ops.begin(), ops.end());
    for (Operation *op : ops)
      for (Type t : llvm::concat<const Type>(op->getOperandTypes(),
                                             op->getResultTypes()))
        if (auto tensor = dyn_cast<RankedTensorType>(t);
            !tensor || !tensor.hasStaticShape())
          return fail(op, "expected tensors of static shape");
    if (!loops.find(ops, outputs))
      return false;
    return llvm::all_of(outputs, [&](Value v) { return addOutput(v); });
  }

private:
  bool fail(const Twine &message) {
    if (why.empty())
      why = message.str();
    return false;
  }
  bool fail(Operation *op, const Twine &message) {
    return fail(op->getName().getStringRef() + ": " + message);
  }
  KernelNode *failNode(Operation *op, const Twine &message) {
    fail(op, message);
    return nullptr;
  }

  //===--- nodes ----------------------------------------------------------===//
  bool addOutput(Value v) {
    if (Operation *op = v.getDefiningOp(); loops.columnSums.contains(op))
      return addColumnSum(op);
    if (auto put = v.getDefiningOp<ir::PutRowsOp>();
        put && inside.contains(put))
      return addRows(put);
    Ints shape = tensorType(v).getShape();
    int64_t n = product(shape), rows = graph.extent(false),
            all = rows * graph.extent(true);
    // If nothing is reduced, both are equal; then it is one per row.
    bool full = n == all && !(graph.reduces && n == rows);
    if (full && graph.contraction.op)
      return fail("an output has the elements that are contracted");
    if (!full && n != rows &&
        (loops.overRows.empty() || n != rows / rowsOfProduct()))
      return fail("an output has " + Twine(n) + " elements, expected " +
                  Twine(all) +
                  (graph.reduces ? " or " + Twine(rows) : Twine("")));
    const bool perColumn = !full && n != rows;
    Forms index = forms.over(shape, full        ? everyLoop()
                                    : perColumn ? allButRows()
                                                : loops.kept);
    KernelNode *node = eval(v, index);
    if (!node)
      return false;
    if (graph.contraction.op && !perColumn && node->depth > 1)
      return fail("an element of a product depends on its column's sums");
    graph.outputs.push_back(
        {node, forms.linear(index, shape), full, nullptr, perColumn});
    return true;
  }
  /// The values, each stored in the row of its index.
  bool addRows(ir::PutRowsOp put) {
    Ints shape = tensorType(put.getValues()).getShape(),
         table = tensorType(put.getY()).getShape();
    if (inside.size() > 1)
      return fail(put, "must be a kernel of its own");
    Forms index = forms.over(shape, everyLoop());
    KernelNode *node = eval(put.getValues(), index),
               *row = eval(put.getRows(), index.front());
    index.front() = readAt(row, table.front());
    graph.outputs.push_back({node, forms.linear(index, table), true, nullptr,
                             false, row, table.front()});
    return true;
  }
  bool addColumnSum(Operation *op) {
    Ints axes = cast<ir::ReductionInterface>(op).reducedAxes(),
         result = tensorType(op->getResult(0)).getShape();
    Forms at =
        forms.over(tensorType(op->getOperand(0)).getShape(), everyLoop());
    KernelNode *node = eval(op->getOperand(0), at);
    if (!node)
      return false;
    for (int64_t axis : axes)
      at[axis] = IndexForm();
    // Removing the summed dimensions keeps the order of the others.
    Forms index;
    for (auto [i, form] : llvm::enumerate(at))
      if (result.size() == at.size() || !llvm::is_contained(axes, (int64_t)i))
        index.push_back(form);
    graph.outputs.push_back({node, forms.linear(index, result), false, op});
    return true;
  }

  KernelNode *make(KernelNode::Kind kind, Value v,
                   ArrayRef<KernelNode *> children = {}, IndexForm index = {}) {
    auto node = std::make_unique<KernelNode>();
    node->kind = kind;
    node->value = v;
    node->children.assign(children.begin(), children.end());
    node->index = index;
    return finish(std::move(node));
  }
  KernelNode *finish(std::unique_ptr<KernelNode> node) {
    for (KernelNode *c : node->children) {
      node->depth = std::max(node->depth, c->depth);
      node->varies |= c->varies;
    }
    for (unsigned v : loops.reduced)
      node->varies |= graph.readsLoop(*node, v);
    // A reduction has one value per row, and readers need another pass over it.
    if (node->kind == KernelNode::Reduce) {
      node->varies = false;
      graph.depth = std::max(graph.depth, ++node->depth);
    }
    node->id = graph.nodes.size();
    graph.nodes.push_back(std::move(node));
    return graph.nodes.back().get();
  }

  KernelNode *eval(Value v, ArrayRef<IndexForm> at) {
    Forms index(at.begin(), at.end());
    for (auto [form, size] : llvm::zip(index, tensorType(v).getShape()))
      if (size == 1)
        form = IndexForm();
    auto [it, fresh] =
        memo.try_emplace({v.getAsOpaquePointer(), index}, nullptr);
    if (!fresh)
      return it->second;
    if (graph.nodes.size() > kMaxNodes) {
      fail("more than " + Twine(kMaxNodes) + " distinct elements");
      return nullptr;
    }
    KernelNode *node = compute(v, index);
    memo[{v.getAsOpaquePointer(), index}] = node;
    return node;
  }

  KernelNode *compute(Value v, ArrayRef<IndexForm> index) {
    Ints shape = tensorType(v).getShape();
    Operation *op = v.getDefiningOp();
    if (!op || !inside.contains(op))
      return load(v, forms.linear(index, shape));
    if (auto gather = dyn_cast<ir::GatherOp>(op))
      return computeGather(gather, index);
    // The body is emitted once for all results.
    if (auto result = cast<OpResult>(v).getResultNumber()) {
      KernelNode *first = eval(op->getResult(0), index);
      KernelNode *node = first ? make(KernelNode::Pick, v, first) : nullptr;
      if (node)
        node->result = result;
      return node;
    }
    if (auto constant = dyn_cast<ir::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!dense)
        return failNode(op, "expected a dense value");
      if (dense.isSplat())
        return make(KernelNode::Splat, v);
      return make(KernelNode::Table, v, {}, forms.linear(index, shape));
    }
    if (auto iota = dyn_cast<ir::IotaOp>(op))
      return make(KernelNode::Index, v, {}, index[iota.getAxis()]);
    if (isa<ir::PositionOp>(op))
      return make(KernelNode::Index, v, {}, forms.linear(index, shape));
    if (isa<ir::ElementwiseInterface>(op)) {
      SmallVector<KernelNode *, 3> children;
      for (Value operand : op->getOperands()) {
        children.push_back(evalBroadcast(operand, index));
        if (!children.back())
          return nullptr;
      }
      return make(KernelNode::Apply, v, children);
    }
    if (isa<ir::BroadcastOp, ir::ReshapeOp, ir::MovementInterface>(op))
      return computeMoved(op, index);
    if (auto reduction = dyn_cast<ir::ReductionInterface>(op))
      return computeReduce(reduction, index);
    if (auto product = dyn_cast<ir::MatmulOp>(op))
      return computeContraction(product, index);
    return failNode(op, "cannot be part of a kernel");
  }

  /// An element of a movement op: an element of an operand at another index.
  KernelNode *computeMoved(Operation *op, ArrayRef<IndexForm> index) {
    if (auto broadcast = dyn_cast<ir::BroadcastOp>(op))
      return evalBroadcast(broadcast.getX(), index);
    if (auto reshape = dyn_cast<ir::ReshapeOp>(op)) {
      Ints to = tensorType(reshape.getResult()).getShape(),
           from = tensorType(reshape.getX()).getShape();
      return eval(reshape.getX(),
                  forms.delinear(forms.linear(index, to), from));
    }
    if (auto transpose = dyn_cast<ir::TransposeOp>(op)) {
      Forms x(index.size());
      for (auto [d, p] : llvm::enumerate(transpose.getPerm()))
        x[p] = index[d];
      return eval(transpose.getX(), x);
    }
    if (auto slice = dyn_cast<ir::SliceOp>(op)) {
      Forms x;
      for (size_t d = 0; d < index.size(); ++d)
        x.push_back(index[d] * slice.getSteps()[d] + slice.getStarts()[d]);
      return eval(slice.getX(), x);
    }
    if (auto pad = dyn_cast<ir::PadOp>(op))
      return computePad(pad, index);
    return computeConcat(cast<ir::ConcatOp>(op), index);
  }

  KernelNode *load(Value v, IndexForm at) {
    SmallVector<KernelNode *, 3> reads;
    for (unsigned i = 0; i < at.variables(); ++i)
      if (at.coefficient(i) && graph.variables[i].node)
        reads.push_back(const_cast<KernelNode *>(graph.variables[i].node));
    return make(KernelNode::Load, v, reads, at);
  }

  /// The row number becomes a variable of the forms. The index must be in
  /// memory: forms are emitted with addresses, and cannot compute anything.
  KernelNode *computeGather(ir::GatherOp gather, ArrayRef<IndexForm> index) {
    int64_t axis = gather.getAxis(),
            rank = tensorType(gather.getIndices()).getRank();
    KernelNode *row =
        eval(gather.getIndices(), index.drop_front(axis).take_front(rank));
    if (!row)
      return nullptr;
    if (row->kind != KernelNode::Load && row->kind != KernelNode::Table &&
        row->kind != KernelNode::Index && row->kind != KernelNode::Splat)
      return failNode(gather, "expected indices that are in memory");
    Ints shape = tensorType(gather.getData()).getShape();
    Forms x(index.begin(), index.begin() + axis);
    x.push_back(readAt(row, shape[axis]));
    x.append(index.begin() + axis + rank, index.end());
    return eval(gather.getData(), x);
  }

  IndexForm readAt(const KernelNode *row, int64_t size) {
    graph.variables.push_back(
        {KernelVariable::Read, size, false, row->index, 1, row});
    return IndexForm::variable(graph.variables.size() - 1);
  }

  KernelNode *evalBroadcast(Value v, ArrayRef<IndexForm> index) {
    return eval(v, index.take_back(tensorType(v).getRank()));
  }

  KernelNode *computePad(ir::PadOp pad, ArrayRef<IndexForm> index) {
    auto node = std::make_unique<KernelNode>();
    node->kind = KernelNode::Pad;
    node->value = pad.getY();
    Forms x;
    for (size_t d = 0; d < index.size(); ++d) {
      IndexForm t = index[d] + IndexForm(-pad.getLow()[d]);
      int64_t size = tensorType(pad.getX()).getDimSize(d),
              step = pad.getInterior()[d] + 1;
      int64_t high = (size - 1) * step + 1;
      // A condition costs a branch: only if the index can be outside.
      if (auto [least, most] = forms.range(t); least < 0 || most >= high)
        node->bounds.push_back({t, 0, high});
      if (step > 1 && size > 1) {
        int64_t span = (size - 1) * step + 1;
        node->bounds.push_back(
            {forms.derived(KernelVariable::Remainder, t, step, step), 0, 1});
        t = forms.derived(KernelVariable::Quotient, t, step,
                          (span - 1) / step + 1);
      }
      x.push_back(t);
    }
    KernelNode *child = evalGuarded(pad, pad.getX(), x);
    if (!child)
      return nullptr;
    node->children = {child};
    return finish(std::move(node));
  }

  KernelNode *computeConcat(ir::ConcatOp concat, ArrayRef<IndexForm> index) {
    auto node = std::make_unique<KernelNode>();
    node->kind = KernelNode::Concat;
    node->value = concat.getY();
    int64_t axis = concat.getAxis(), start = 0;
    for (Value v : concat.getXs()) {
      int64_t size = tensorType(v).getDimSize(axis);
      if (size == 0)
        continue;
      Forms x(index.begin(), index.end());
      x[axis] = x[axis] + IndexForm(-start);
      node->bounds.push_back({index[axis], start, start + size});
      start += size;
      node->children.push_back(evalGuarded(concat, v, x));
      if (!node->children.back())
        return nullptr;
    }
    if (node->children.empty())
      return failNode(concat, "expected a tensor that is not empty");
    return finish(std::move(node));
  }

  /// Values read only under a condition must not be reduced: reductions run
  /// over all rows.
  KernelNode *evalGuarded(Operation *op, Value v, ArrayRef<IndexForm> index) {
    KernelNode *child = eval(v, index);
    if (child && child->depth)
      return failNode(op, "cannot follow a reduction in one cluster");
    return child;
  }

  KernelNode *computeReduce(ir::ReductionInterface op,
                            ArrayRef<IndexForm> index) {
    Value x = op->getOperand(0);
    Ints shape = tensorType(x).getShape(), axes = op.reducedAxes();
    bool single = KernelLoops::reducedCount(op) == 1;
    if (single && op.combine() == ir::Combine::argmax)
      return make(KernelNode::Index, op->getResult(0));
    Forms at;
    size_t nextKept = 0, nextReduced = 0, result = 0;
    bool keepdims = op.keepsAxes();
    const bool overRows = loops.overRows.contains(op);
    for (auto [i, size] : llvm::enumerate(shape)) {
      bool isReduced = llvm::is_contained(axes, (int64_t)i);
      if (single) {
        at.push_back(isReduced ? IndexForm() : index[result]);
      } else if (size == 1) {
        at.push_back(IndexForm());
      } else {
        // All reductions of a cluster run over the same loops, in order.
        unsigned v = isReduced && !overRows ? loops.reduced[nextReduced++]
                                            : loops.kept[nextKept++];
        at.push_back(IndexForm::variable(v));
        if (!isReduced && !(index[result] == at.back()))
          return failNode(
              op, "the result of a reduction must be used at its own row");
      }
      result += !isReduced || keepdims;
    }
    KernelNode *child = eval(x, at);
    if (!child || single)
      return child;
    if (overRows && child->depth > 1)
      return failNode(op, "cannot follow a sum of the same column");
    return make(KernelNode::Reduce, op->getResult(0), child);
  }

  KernelNode *computeContraction(ir::MatmulOp op, ArrayRef<IndexForm> index) {
    size_t next = 0;
    bool isFirst = false;
    for (auto [form, size] :
         llvm::zip(index, tensorType(op.getY()).getShape())) {
      if (size == 1)
        continue;
      const unsigned loop = loops.kept[next++];
      if (form == IndexForm::variable(loop))
        continue;
      if (loops.overRows.empty() || (int)loop != graph.contraction.row ||
          !(form == IndexForm()))
        return failNode(op, "a product must be used at its own element");
      isFirst = true;
    }
    auto operand = [&](Value v, bool transposed, bool isLeft) {
      int64_t rank = tensorType(v).getRank();
      Forms at(index.take_back(rank));
      at[rank - (isLeft ? 1 : 2)] =
          graph.contraction.depth < 0
              ? IndexForm()
              : IndexForm::variable(loops.reduced.front());
      if (transposed)
        std::swap(at[rank - 2], at[rank - 1]);
      return eval(v, at);
    };
    KernelNode *a = operand(op.getA(), op.getTransA(), true),
               *b = operand(op.getB(), op.getTransB(), false);
    if (!a || !b)
      return nullptr;
    if (a->depth || b->depth)
      return failNode(op, "cannot follow a reduction in one cluster");
    KernelNode *product = make(KernelNode::Product, op.getY(), {a, b});
    product->varies = true; // even with depth 1
    KernelNode *sum = make(KernelNode::Reduce, op.getY(), product);
    (isFirst ? graph.contraction.first : graph.contraction.element) = sum;
    return sum;
  }

  int64_t rowsOfProduct() const {
    return graph.variables[graph.contraction.row].size;
  }
  SmallVector<unsigned> allButRows() const {
    SmallVector<unsigned> some(loops.kept);
    llvm::erase(some, unsigned(graph.contraction.row));
    return some;
  }

  SmallVector<unsigned> everyLoop() const {
    return llvm::to_vector(
        llvm::seq<unsigned>(loops.kept.size() + loops.reduced.size()));
  }

  KernelGraph &graph;
  KernelLoops loops;
  KernelForms forms;
  std::string &why;
  llvm::SmallPtrSet<Operation *, 32> inside;
  std::map<std::pair<void *, Forms>, KernelNode *> memo;
};

} // namespace

static bool isCut(Operation &op) {
  return isa<exec::LastOp, exec::BesideOp>(op);
}
unsigned partsOf(Region &body) {
  return 1 + llvm::count_if(body.front(), isCut);
}
Operation *lastOf(Region &body) {
  auto cuts = body.front().getOps<exec::LastOp>();
  return cuts.empty() ? nullptr : *cuts.begin();
}

std::unique_ptr<KernelGraph> KernelGraph::build(Region &body, std::string &why,
                                                unsigned part) {
  why.clear();
  if (!body.hasOneBlock() || body.front().empty()) {
    why = "expected one block";
    return nullptr;
  }
  auto yield = dyn_cast<ir::YieldOp>(body.front().getTerminator());
  if (!yield) {
    why = "expected a block that ends in dlc.yield";
    return nullptr;
  }
  SmallVector<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 16> others;
  unsigned at = 0;
  for (Operation &op : body.front().without_terminator())
    if (isCut(op))
      ++at;
    else if (at == part)
      ops.push_back(&op);
    else
      others.insert(&op);
  auto outputs = llvm::make_filter_range(yield.getValues(), [&](Value v) {
    Operation *op = v.getDefiningOp();
    return op ? !others.contains(op) : part == 0;
  });
  return build(ops, llvm::to_vector(outputs), why);
}

std::unique_ptr<KernelGraph> KernelGraph::build(ArrayRef<Operation *> ops,
                                                ArrayRef<Value> outputs,
                                                std::string &why) {
  auto graph = std::make_unique<KernelGraph>();
  why.clear();
  return Builder(*graph, why).run(ops, outputs) ? std::move(graph) : nullptr;
}

} // namespace dlc
