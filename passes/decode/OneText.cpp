// SPDX-License-Identifier: Apache-2.0
#include "passes/decode/OneText.h"

#include "passes/decode/Writer.h"

using namespace mlir;

namespace dlc::decode {
namespace {

using ir::Expr;

constexpr StringLiteral kName = "dlc.name";

StringRef nameOf(func::FuncOp f, unsigned argument) {
  auto name = f.getArgAttrOfType<StringAttr>(argument, kName);
  return name ? name.getValue() : "";
}

bool isBeside(StringRef name) {
  return name == "attention_mask" || name == "position_ids";
}

} // namespace

LogicalResult Writer::run() {
  addFunction();
  for (Operation &op : model.predict.front().without_terminator())
    if (failed(rewrite(&op)))
      return failure();
  return addReturn(model.predict.front().getTerminator());
}

void Writer::addFunction() {
  func::FuncOp predict = model.predict;
  SmallVector<Type> types(predict.getArgumentTypes());
  SmallVector<Dims> dims;
  for (auto [i, type] : llvm::enumerate(types)) {
    auto tensor = cast<RankedTensorType>(type);
    Dims &own = dims.emplace_back(freeDims(tensor.getShape()));
    if (i == model.tokens)
      own = {dimOf(Axis::Batch, model.batch), dimOf(Axis::Time, model.length)};
    else if (tensor.getDimSize(0) == model.batch)
      own[0] = dimOf(Axis::Batch, model.batch);
    type = tensor.clone(rowShape(own, tokens));
  }
  if (one)
    types.push_back(RankedTensorType::get({1}, b.getI64Type()));
  b.setInsertionPointAfter(predict);
  f = func::FuncOp::create(b, predict.getLoc(), one ? "decode" : "prefill",
                           b.getFunctionType(types, {}));
  Block *body = f.addEntryBlock();
  for (auto [i, own] : llvm::enumerate(dims)) {
    rows[predict.getArgument(i)] = {body->getArgument(i), own};
    f.setArgAttr(i, kName, b.getStringAttr(nameOf(predict, i)));
  }
  if (one) {
    position = body->getArguments().back();
    f.setArgAttr(types.size() - 1, kName, b.getStringAttr("dlc.position"));
  }
  b.setInsertionPointToEnd(body);
}

LogicalResult Writer::addReturn(Operation *end) {
  SmallVector<Value> values;
  for (Value v : end->getOperands())
    values.push_back(get(v).value);
  func::ReturnOp::create(b, end->getLoc(), values);
  f.setFunctionType(
      b.getFunctionType(f.getArgumentTypes(), TypeRange(ValueRange(values))));
  if (ArrayAttr attributes = model.predict.getAllResultAttrs())
    f.setAllResultAttrs(attributes);
  return success();
}

InFlightDiagnostic Writer::refuse(Operation *op) {
  return op->emitError() << "--decode: no program of one token follows from "
                            "the model, since ";
}

Row Writer::get(Value v) const {
  auto row = rows.find(v);
  return row != rows.end()
             ? row->second
             : Row{whole.lookup(v), freeDims(ir::tensorType(v).getShape())};
}

Operation *Writer::make(Operation *op, const Rows &operands,
                        ArrayRef<Dims> results) {
  Operation *copy = op->clone();
  copy->setOperands(
      llvm::map_to_vector(operands, [](const Row &r) { return r.value; }));
  for (auto [was, result, dims] :
       llvm::zip_equal(op->getResults(), copy->getResults(), results)) {
    result.setType(ir::tensorType(was).clone(rowShape(dims, tokens)));
    rows[was] = {result, dims};
  }
  return b.insert(copy);
}

void Writer::pick(Row &row, int64_t axis, const Dim &as, Location loc) {
  Expr x(b, loc, row.value);
  SmallVector<int64_t> shape(x.shape()), parts(shape);
  parts.erase(parts.begin() + axis);
  for (auto [i, factor] : llvm::enumerate(as))
    parts.insert(parts.begin() + axis + i, factor.size);
  x = x.reshape(parts);
  for (auto [i, factor] : llvm::enumerate(as)) {
    const int64_t at = axis + i;
    if (factor.axis == Axis::Batch) {
      parts[at] = 1;
      x = part(x, at, 0, 1);
    } else if (factor.axis == Axis::Time && one) {
      parts[at] = 1;
      x = x.make<ir::GatherOp>(x.v, position, uint64_t(at), IntegerAttr());
    }
  }
  shape[axis] = rowSize(as, tokens);
  row = {x.reshape(shape), row.dims};
  row.dims[axis] = as;
}

bool Writer::conform(Row &row, int64_t axis, const Dim &as, Location loc) {
  const Dim &own = row.dims[axis];
  if (own.empty() || own == as)
    return true;
  if (!isFree(own) || sizeOf(own) != sizeOf(as))
    return false;
  pick(row, axis, as, loc);
  return true;
}

std::optional<Dims> Writer::align(MutableArrayRef<Row> operands,
                                  size_t trailing, Location loc) {
  size_t rank = 0;
  for (const Row &row : operands)
    rank = std::max(rank, row.dims.size());
  Dims dims;
  for (size_t back = rank; back > trailing; --back) {
    Dim &dim = dims.emplace_back();
    for (const Row &row : operands)
      if (row.dims.size() >= back)
        if (const Dim &own = row.dims[row.dims.size() - back];
            isFree(dim) && !own.empty() && (dim.empty() || !isFree(own)))
          dim = own;
    for (Row &row : operands)
      if (row.dims.size() >= back &&
          !conform(row, row.dims.size() - back, dim, loc))
        return std::nullopt;
  }
  return dims;
}

FailureOr<Row> Writer::all(const Row &row, Operation *op) {
  std::optional<size_t> axis;
  for (auto [i, dim] : llvm::enumerate(row.dims))
    if (has(dim, Axis::Time)) {
      if (axis || has(dim, Axis::Free))
        return refuse(op) << "it reads tokens along several dimensions, or "
                             "along one that is more than them";
      axis = i;
    }
  if (!axis)
    return row;
  if (auto known = cached.find(row.value); known != cached.end())
    return known->second;
  Row result = row;
  result.dims[*axis] = freeDim(model.length);
  auto type = ir::tensorType(row.value).clone(rowShape(result.dims, tokens));
  ir::StateOp state = cacheOf(type, op->getLoc());
  if (one) {
    SmallVector<int64_t> along(type.getRank(), 1);
    along[*axis] = model.length;
    Expr row(b, op->getLoc(), result.value),
        index = iota(row, along, *axis),
        here = index == Expr(b, op->getLoc(), position),
        old = row.make<ir::ReadOp>(type, state.getSymName());
    result.value = select(here, row, old);
  }
  ir::WriteOp::create(b, op->getLoc(), state.getSymName(), result.value);
  cached[row.value] = result;
  return result;
}

ir::StateOp Writer::cacheOf(RankedTensorType type, Location loc) {
  const size_t number = caches++;
  if (number < model.caches.size())
    return model.caches[number];
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(model.predict);
  Attribute zero = b.getZeroAttr(type.getElementType());
  return model.caches.emplace_back(ir::StateOp::create(
      b, loc, ("cache/" + Twine(number)).str(), type, ir::Role::accumulator,
      zero, FlatSymbolRefAttr(), /*trainable=*/false));
}

FailureOr<TextModel> textModel(func::FuncOp predict) {
  std::optional<unsigned> found;
  for (BlockArgument argument : predict.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    const StringRef name = nameOf(predict, argument.getArgNumber());
    const bool isTokens = type.getRank() == 2 && !isBeside(name) &&
                          isa<IntegerType>(type.getElementType()) &&
                          !type.getElementType().isInteger(1);
    if ((!isTokens && !isBeside(name)) || (isTokens && found))
      return predict.emitError()
             << "--decode is of models of tokens, integers [B, T], and no more "
                "than 'attention_mask' and 'position_ids' beside them; '"
             << name << "' is another input";
    if (isTokens)
      found = argument.getArgNumber();
  }
  if (!found)
    return predict.emitError() << "--decode is of models of tokens, integers "
                                  "[B, T]: this one has no such input";
  auto type = cast<RankedTensorType>(predict.getArgument(*found).getType());
  if (type.getDimSize(1) < 2)
    return predict.emitError()
           << "--decode is of models that read several tokens: this one reads "
           << type.getDimSize(1);
  return TextModel{predict, *found, type.getDimSize(0), type.getDimSize(1), {}};
}

LogicalResult addFunctionOfText(TextModel &model, bool one) {
  return Writer(model, one).run();
}

} // namespace dlc::decode
