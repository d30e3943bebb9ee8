// SPDX-License-Identifier: Apache-2.0
// Several documents per row, each computed as if it were alone.
#include "passes/Passes.h"
#include "passes/pack/Documents.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

namespace pack {
namespace {

constexpr StringLiteral kName = "dlc.name", kPositions = "position_ids",
                        kPadding = "attention_mask";

BlockArgument inputOf(func::FuncOp f, StringRef name) {
  for (BlockArgument argument : f.getArguments()) {
    auto own = f.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kName);
    if (own && own.getValue() == name)
      return argument;
  }
  return {};
}

} // namespace

LogicalResult Documents::run() {
  if (failed(takeArguments()))
    return failure();
  for (Operation &op :
       llvm::make_early_inc_range(f.front().without_terminator())) {
    Flaw flaw{&op, nullptr};
    bool isOfInputs = false;
    for (Value v : op.getOperands()) {
      isOfInputs |= rows.contains(v) || flaws.contains(v);
      if (auto found = flaws.find(v); found != flaws.end() && !flaw.reason)
        flaw = found->second;
    }
    b.setInsertionPoint(&op);
    if (isOfInputs && !flaw.reason)
      flaw.reason = visit(&op);
    if (flaw.reason)
      for (Value y : op.getResults())
        flaws[y] = flaw;
  }
  return checkResults(f.front().getTerminator());
}

/// Derives the starts of documents from position_ids; every token is valid, so
/// the padding mask is removed.
LogicalResult Documents::takeArguments() {
  BlockArgument positions = inputOf(f, kPositions);
  auto type = positions ? tensorType(positions) : RankedTensorType();
  if (!type || type.getRank() != 2 || !isa<IntegerType>(type.getElementType()))
    return f.emitError()
           << "--pack: the model has no input 'position_ids' of integers [B, "
              "T], which say where documents begin: export it with one, as in "
              "torch.onnx.export(model, (input_ids, attention_mask, "
              "position_ids), ...)";
  batch = type.getDimSize(0), length = type.getDimSize(1);
  b.setInsertionPointToStart(&f.front());
  if (BlockArgument padding = inputOf(f, kPadding);
      padding && tensorType(padding) && tensorType(padding).getRank() == 2) {
    auto mask = tensorType(padding);
    Attribute one = isa<FloatType>(mask.getElementType())
                        ? Attribute(b.getFloatAttr(mask.getElementType(), 1))
                        : Attribute(b.getIntegerAttr(mask.getElementType(), 1));
    padding.replaceAllUsesWith(ir::ConstantOp::create(
        b, f.getLoc(), mask, DenseElementsAttr::get(mask, one)));
    if (failed(f.eraseArgument(padding.getArgNumber())))
      return failure();
    positions = inputOf(f, kPositions);
  }
  for (BlockArgument argument : f.getArguments()) {
    auto own = tensorType(argument);
    Dims dims = decode::freeDims(own.getShape());
    if (own.getRank() > 0 && own.getDimSize(0) == batch)
      dims[0] = dimOf(Axis::Batch, batch);
    if (own.getRank() > 1 && own.getDimSize(1) == length)
      dims[1] = dimOf(Axis::Time, length);
    set(argument, dims);
  }
  // Positions count from 0 in each document, so index - position is its start.
  ir::Expr position(b, f.getLoc(), positions);
  document = iota(position, {1, length}, 1, type.getElementType()) - position;
  return success();
}

LogicalResult Documents::checkResults(Operation *end) {
  for (Value v : end->getOperands())
    if (auto flaw = flaws.find(v); flaw != flaws.end())
      return flaw->second.op->emitError()
             << "--pack: the documents of a row would not be apart at '"
             << flaw->second.op->getName() << "', since "
             << flaw->second.reason;
  return success();
}

Value Documents::sameDocument(const Dims &dims, Location loc) {
  SmallVector<int64_t> queries, keys, whole, shape;
  bool isJoined = false, hasBatch = batch == 1;
  int times = 0;
  for (const Dim &dim : dims) {
    int64_t size = 1;
    isJoined |= dim.size() > 1;
    for (auto factor : dim) {
      const bool isTime = factor.axis == Axis::Time,
                 isBatch = factor.axis == Axis::Batch;
      if (isBatch && (hasBatch || times > 0))
        return nullptr; // tokens before texts
      hasBatch |= isBatch;
      times += isTime;
      queries.push_back(isBatch || (isTime && times == 1) ? factor.size : 1);
      keys.push_back(isBatch || (isTime && times == 2) ? factor.size : 1);
      whole.push_back(isBatch || isTime || dim.size() > 1 ? factor.size : 1);
      size *= factor.size;
    }
    if (dim.empty())
      for (auto *list : {&queries, &keys, &whole})
        list->push_back(1);
    shape.push_back(dim.size() > 1 || !decode::isFree(dim) ? size : 1);
  }
  if (times != 2 || !hasBatch)
    return nullptr;
  ir::Expr begin(b, loc, document), ofQuery = begin.reshape(queries),
                                    ofKey = begin.reshape(keys),
                                    same = ofQuery == ofKey;
  return isJoined ? same.broadcast(whole).reshape(shape) : same;
}

} // namespace pack

#define GEN_PASS_DEF_PACKDOCUMENTS
#include "passes/Passes.h.inc"
namespace {

struct PackDocuments : impl::PackDocumentsBase<PackDocuments> {
  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (failed(pack::Documents(f, symbols).run()))
        return signalPassFailure();
  }
};

} // namespace

} // namespace dlc
