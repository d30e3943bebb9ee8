// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/rows/Rows.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {

void ValueTable::useAll(const onnx::NodeProto &made) {
  for (const auto *names : {&made.input(), &made.output()})
    for (const std::string &name : *names)
      if (!name.empty())
        use(name);
}

LogicalResult Node::fail(const Status &status) const {
  return emitError(loc) << status.message();
}

size_t Node::inputs() const { return proto.input_size(); }
size_t Node::outputs() const { return proto.output_size(); }

std::string Node::inputName(size_t i) const { return inputOf(proto, int(i)); }

bool Node::uses(size_t output) const {
  return output < outputs() && !proto.output(output).empty() &&
         table.isUsed(proto.output(output));
}

Value Node::in(size_t i) const {
  if (!has(i)) {
    fail("input {} is missing", i);
    return nullptr;
  }
  Value value = table.value(inputName(i), loc);
  if (!value && table.problem().ok())
    fail("input '{}' is a sequence, expected a tensor", inputName(i));
  return value;
}

RankedTensorType Node::type(size_t i) const {
  return has(i) ? table.type(inputName(i)) : nullptr;
}

Shape Node::shape(size_t i) const {
  RankedTensorType t = type(i);
  return t ? Shape(t.getShape()) : Shape();
}

int Node::onnxType(size_t i) const {
  return has(i) ? table.onnxType(inputName(i)) : 0;
}

const HostTensor *Node::host(size_t i) const {
  return has(i) ? table.host(inputName(i)) : nullptr;
}

FailureOr<std::vector<int64_t>> Node::integers(size_t i,
                                               const char *what) const {
  if (const HostTensor *known = host(i)) {
    DLC_CHECK(check(table.budget().work(uint64_t(known->elements()), what)));
    return known->integers();
  }
  if (!table.problem().ok())
    return failure();
  return fail("expected {} to be known at compile time, but input '{}' depends "
              "on the model's data",
              what, inputName(i));
}

FailureOr<double> Node::number(size_t i, const char *what) const {
  const HostTensor *known = host(i);
  if (known && known->elements() == 1)
    return known->number(0);
  if (!table.problem().ok())
    return failure();
  return fail("expected {} to be one number known at compile time, input '{}' "
              "is not",
              what, inputName(i));
}

FailureOr<int64_t> Node::axis(const char *name, int64_t otherwise,
                              int64_t rank) const {
  return checked(normalizeAxis(integer(name, otherwise), rank));
}

FailureOr<std::string>
Node::choice(const char *name, const char *otherwise,
             std::initializer_list<std::string_view> known) const {
  const std::string given = text(name, otherwise);
  if (llvm::is_contained(known, given))
    return given;
  return fail("{} '{}' is not supported, expected {} or {}", name, given,
              fmt::join(known.begin(), known.end() - 1, ", "), known.end()[-1]);
}

LogicalResult Node::result(size_t i, Value value) const {
  if (!value)
    return failure();
  if (i < outputs() && !proto.output(i).empty())
    table.define(proto.output(i), value);
  return success();
}

LogicalResult Node::result(size_t i, HostTensor value) const {
  if (i < outputs() && !proto.output(i).empty())
    table.define(proto.output(i), std::move(value));
  return success();
}

LogicalResult Node::checkTypes(TypeRange types) const {
  for (Type t : types)
    DLC_CHECK(checked(countElements(
        Shape(llvm::cast<RankedTensorType>(t).getShape()), "the result")));
  return success();
}

Value Node::reshape(Value x, const Shape &shape) const {
  if (!x || shapeOf(x) == shape)
    return x;
  auto type = RankedTensorType::get(shape, ir::elementType(x));
  return ir::ReshapeOp::create(b, loc, type, x);
}

Value Node::broadcast(Value x, const Shape &shape) const {
  if (!x || shapeOf(x) == shape)
    return x;
  auto type = RankedTensorType::get(shape, ir::elementType(x));
  if (failed(checkTypes({type})))
    return nullptr;
  return ir::BroadcastOp::create(b, loc, type, x);
}

Value Node::cast(Value x, Type element) const {
  if (!x || ir::elementType(x) == element)
    return x;
  return ir::CastOp::create(b, loc, ir::tensorType(x).clone(element), x);
}

Value Node::transpose(Value x, const std::vector<int64_t> &perm) const {
  return make<ir::TransposeOp>(x, ArrayRef<int64_t>(perm));
}

Value Node::slice(Value x, const SliceBounds &bounds) const {
  if (x && shapeOf(x) == bounds.sizes &&
      llvm::all_of(bounds.steps, [](int64_t step) { return step == 1; }))
    return x;
  return make<ir::SliceOp>(x, ArrayRef<int64_t>(bounds.starts),
                           ArrayRef<int64_t>(bounds.sizes),
                           ArrayRef<int64_t>(bounds.steps));
}

Value Node::matmul(Value a, Value b, bool transA, bool transB,
                   Value bias) const {
  return make<ir::MatmulOp>(a, b, bias, transA, transB, StringAttr());
}

Value Node::constant(double value, Value like) const {
  if (!like)
    return nullptr;
  return constant(HostTensor::scalar(toDType(ir::elementType(like)), value));
}

Value Node::constant(const HostTensor &value) const {
  Type element = toMlir(value.dtype, b.getContext());
  auto type = RankedTensorType::get(value.shape, element);
  bool splat = value.isSplat();
  SmallVector<Attribute> values;
  for (int64_t i = 0, count = splat ? 1 : value.elements(); i < count; ++i)
    if (isa<FloatType>(element))
      values.push_back(b.getFloatAttr(element, value.number(i)));
    else
      values.push_back(b.getIntegerAttr(element, value.integer(i)));
  auto attribute = DenseElementsAttr::get(type, values);
  return ir::ConstantOp::create(b, loc, type, attribute);
}

Shape shapeOf(Value value) { return Shape(ir::tensorType(value).getShape()); }

/// Element types of dlc with their MLIR types.
static const std::pair<DType, Type (*)(MLIRContext *)> elementTypes[] = {
    {DType::F32, [](MLIRContext *c) -> Type { return Float32Type::get(c); }},
    {DType::F16, [](MLIRContext *c) -> Type { return Float16Type::get(c); }},
    {DType::BF16, [](MLIRContext *c) -> Type { return BFloat16Type::get(c); }},
    {DType::F64, [](MLIRContext *c) -> Type { return Float64Type::get(c); }},
    {DType::I64,
     [](MLIRContext *c) -> Type { return IntegerType::get(c, 64); }},
    {DType::I32,
     [](MLIRContext *c) -> Type { return IntegerType::get(c, 32); }},
    {DType::U8, [](MLIRContext *c) -> Type { return IntegerType::get(c, 8); }},
    {DType::Bool,
     [](MLIRContext *c) -> Type { return IntegerType::get(c, 1); }},
};

Type toMlir(DType dtype, MLIRContext *context) {
  for (auto [known, make] : elementTypes)
    if (known == dtype)
      return make(context);
  llvm_unreachable("the table has every DType");
}

DType toDType(Type type) {
  for (auto [dtype, make] : elementTypes)
    if (make(type.getContext()) == type)
      return dtype;
  llvm_unreachable("the importer makes no other type");
}

template <AddRows *...add> static Rows rowsOf() {
  Rows rows;
  (add(rows), ...);
  return rows;
}

const Rows &allRows() {
  static const Rows rows =
      rowsOf<addArrangeRows, addAttentionRows, addContribAttentionRows,
             addContribPlaceRows, addContribQuantizedRows, addControlFlowRows,
             addConvolutionRows, addDeformRows, addEinsumRows,
             addElementwiseRows, addIndexRows, addIntegerRows, addLinearRows,
             addLossRows, addNormRows, addPoolRows, addQuantizeRows,
             addRandomRows, addRankRows, addRecurrenceRows, addReduceRows,
             addRegionRows, addResizeRows, addSampleRows, addSequenceRows,
             addShapeRows, addSignalRows, addTrainingRows,
             addTrigonometryRows>();
  return rows;
}

} // namespace dlc::import
