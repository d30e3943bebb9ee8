// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/CustomOps.h"
#include "compiler/dialect/ops/Custom.h"
#include "compiler/import/rows/Build.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/files/Files.h"
#include <filesystem>

using namespace mlir;

namespace dlc::import {
namespace {

constexpr uint64_t kLargestLibrary = uint64_t(1) << 30;

/// dlc types and their numbers in the C interface; 0: not supported.
constexpr std::pair<DType, int32_t> kTypes[] = {
    {DType::F32, DLC_OP_F32},   {DType::F16, DLC_OP_F16},
    {DType::BF16, DLC_OP_BF16}, {DType::F64, DLC_OP_F64},
    {DType::I64, DLC_OP_I64},   {DType::I32, DLC_OP_I32},
    {DType::U8, DLC_OP_U8},     {DType::Bool, DLC_OP_BOOL}};

int32_t opType(DType type) {
  const auto *found = llvm::find_if(
      kTypes, [&](const auto &types) { return types.first == type; });
  return found == std::end(kTypes) ? 0 : found->second;
}

/// Domains of ONNX, and those that dlc has rows for.
bool isReserved(std::string_view domain) {
  return domain == "ai.onnx" || domain.starts_with("ai.onnx.") ||
         domain == "com.microsoft" || domain == "ai.dlc";
}

/// As operatorName.
std::string nameOf(const dlc_op &op) {
  return fmt::format("{}.{}", op.domain, op.name);
}

FailureOr<OpAttributes> attributesOf(const Node &n) {
  OpAttributes attributes;
  for (const onnx::AttributeProto &a : n.proto.attribute()) {
    auto &value = attributes[a.name()];
    switch (a.type()) {
    case onnx::AttributeProto::INT:
      value = std::vector<int64_t>{a.i()};
      break;
    case onnx::AttributeProto::INTS:
      value = std::vector<int64_t>(a.ints().begin(), a.ints().end());
      break;
    case onnx::AttributeProto::FLOAT:
      value = std::vector<double>{a.f()};
      break;
    case onnx::AttributeProto::FLOATS:
      value = std::vector<double>(a.floats().begin(), a.floats().end());
      break;
    case onnx::AttributeProto::STRING:
      value = a.s();
      break;
    default:
      return n.fail("attribute '{}': an operator of a library takes numbers, "
                    "lists of numbers and texts",
                    a.name());
    }
  }
  return attributes;
}

/// Placeholder values, by which outputs that the library did not set are found.
dlc_op_tensor unsetTensor() {
  dlc_op_tensor t{};
  t.rank = -1;
  return t;
}

/// Appends input `i` to the call; its contents, if known, are stored in `kept`.
LogicalResult addInput(const Node &n, size_t i, OpCall &call,
                       std::deque<std::string> &kept) {
  Value v = n.in(i);
  if (!v)
    return failure();
  const DType dtype = toDType(ir::elementType(v));
  if (n.onnxType(i) != toOnnxType(dtype))
    return n.fail("input {}: an operator of a library takes f32, f16, bf16, "
                  "f64, i64, i32, u8 and bool",
                  i);
  const Shape shape = n.shape(i);
  if (shape.size() > DLC_OP_RANK)
    return n.fail(
        "input {} has rank {}, an operator of a library takes at most {}", i,
        shape.size(), DLC_OP_RANK);
  dlc_op_tensor t{opType(dtype), int32_t(shape.size()), {}, nullptr};
  llvm::copy(shape, t.shape);
  if (const HostTensor *known = n.host(i))
    t.data = kept.emplace_back(known->bytes()).data();
  call.inputs.push_back(t);
  return success();
}

FailureOr<Type> typeOf(const Node &n, size_t i, const dlc_op_tensor &t) {
  const auto *dtype = llvm::find_if(
      kTypes, [&](const auto &types) { return types.second == t.type; });
  bool isValid =
      dtype != std::end(kTypes) && t.rank >= 0 && t.rank <= DLC_OP_RANK;
  for (int32_t d = 0; isValid && d < t.rank; ++d)
    isValid = t.shape[d] > 0;
  if (!isValid)
    return n.fail("output {}: the library gave no valid type and shape for it",
                  i);
  Shape shape(t.shape, t.shape + t.rank);
  DLC_CHECK(checkFits(n, shape, "output of"));
  return Type(
      RankedTensorType::get(shape, toMlir(dtype->first, n.b.getContext())));
}

} // namespace

Status CustomOps::add(const std::string &path) {
  DLC_ASSIGN(std::string bytes, readFile(path, kLargestLibrary));
  DLC_ASSIGN(OpLibrary library, OpLibrary::load(bytes, path));
  const std::string file =
      "ops." + std::filesystem::path(path).filename().string();
  for (const Loaded &other : loaded_)
    if (other.file == file)
      return usageError("{}: '{}' has the same name; rename one of them", path,
                        other.library.name());
  for (const dlc_op &op : library.ops()) {
    if (isReserved(op.domain))
      return usageError("{}: operator '{}.{}' is in a reserved domain", path,
                        op.domain, op.name);
    if (const Found *other = find(nameOf(op)))
      return usageError("{}: operator '{}' is in '{}', too", path, nameOf(op),
                        other->library->library.name());
  }
  const Loaded &added =
      loaded_.emplace_back(file, std::move(bytes), std::move(library));
  for (const dlc_op &op : added.library.ops())
    found_.try_emplace(nameOf(op), Found{&added, &op});
  return {};
}

Result<CustomOps> CustomOps::load(const std::vector<std::string> &paths,
                                  std::string device) {
  CustomOps ops;
  ops.device_ = std::move(device);
  for (const std::string &path : paths)
    if (Status status = ops.add(path); !status.ok())
      return usageError("--op-library: {}", status.message());
  return ops;
}

const CustomOps::Found *CustomOps::find(const std::string &op) const {
  auto found = found_.find(op);
  return found == found_.end() ? nullptr : &found->second;
}

LogicalResult CustomOps::import(const Node &n, const Found &found) {
  const auto [loaded, op] = found;
  const dlc_op_code *code = codeFor(*op, device_);
  if (!code)
    return n.fail("'{}' has no implementation of '{}.{}' for {}",
                  loaded->library.name(), op->domain, op->name, device_);
  DLC_GET(auto attributes, attributesOf(n));
  const std::string text = attributesText(attributes);
  auto call = OpCall::make(text);
  if (!call)
    return n.fail(badModel("{}", call.status().message()));
  std::deque<std::string> kept;
  SmallVector<Value> operands;
  for (size_t i = 0; i < n.inputs(); ++i) {
    DLC_CHECK(addInput(n, i, *call, kept));
    operands.push_back(n.in(i));
  }
  call->outputs.assign(n.outputs(), unsetTensor());
  if (Status status = call->run(op->shapes, loaded->library.name());
      !status.ok())
    return n.fail(badModel("{}", status.message()));
  SmallVector<Type> types;
  for (size_t i = 0; i < n.outputs(); ++i) {
    DLC_GET(auto type, typeOf(n, i, call->outputs[i]));
    types.push_back(type);
  }
  auto made = ir::CustomOp::create(n.b, n.loc, types, operands, loaded->file,
                                   op->domain, op->name, text,
                                   /*backward=*/false, bool(code->backward));
  used_.try_emplace(loaded->file, loaded->bytes); // copies the bytes once
  for (size_t i = 0; i < n.outputs(); ++i)
    DLC_CHECK(n.result(i, made.getResult(i)));
  return success();
}

} // namespace dlc::import
