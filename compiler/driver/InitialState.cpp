#include "compiler/driver/InitialState.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/StateLayout.h"
#include "runtime/base/Safetensors.h"
#include <deque>

using namespace mlir;

namespace dlc {
namespace {

std::optional<DType> dtypeOf(Type t) {
  if (t.isF32())
    return DType::F32;
  if (t.isF16())
    return DType::F16;
  if (t.isBF16())
    return DType::BF16;
  if (t.isF64())
    return DType::F64;
  if (t.isInteger(64))
    return DType::I64;
  if (t.isInteger(32))
    return DType::I32;
  if (t.isInteger(8))
    return DType::U8;
  if (t.isInteger(1))
    return DType::Bool;
  return std::nullopt;
}

class Initializer {
public:
  Initializer(ModuleOp module, const import::WeightStore &weights)
      : symbols(module), weights(weights) {}

  Result<NamedTensor> make(exec::StateOp state) {
    auto type = cast<RankedTensorType>(state.getType());
    NamedTensor t;
    t.name = state.getSymName().str();
    std::optional<DType> dtype = dtypeOf(type.getElementType());
    if (!dtype)
      return failed("state '{}' has an element type that files cannot hold",
                    t.name);
    t.dtype = *dtype;
    t.shape.assign(type.getShape().begin(), type.getShape().end());
    t.bytes = byteSize(type);
    exec::StateOp from = state;
    while (auto ref = dyn_cast<FlatSymbolRefAttr>(from.getInit()))
      from = symbols.lookup<exec::StateOp>(ref.getValue());
    if (auto name = dyn_cast<StringAttr>(from.getInit())) {
      const import::Weight *weight = weights.find(name.str());
      if (!weight || weight->dtype != t.dtype || weight->bytes != t.bytes)
        return badModel("initializer '{}' does not have the type of state '{}'",
                        name.str(), t.name);
      t.data = static_cast<const std::byte *>(weight->data);
      return t;
    }
    fill(t, type, from.getInit());
    return t;
  }

private:
  void fill(NamedTensor &t, RankedTensorType type, Attribute value) {
    auto element = DenseElementsAttr::get(
        RankedTensorType::get({}, type.getElementType()), value);
    ArrayRef<char> raw = element.getRawData();
    buffers.emplace_back(t.bytes, std::byte(0));
    for (size_t i = 0; i < t.bytes; i += raw.size())
      std::memcpy(&buffers.back()[i], raw.data(), raw.size());
    t.data = buffers.back().data();
  }
  SymbolTable symbols;
  const import::WeightStore &weights;
  std::deque<std::vector<std::byte>> buffers;
};

bool isZeroMoment(exec::StateOp state) {
  auto value = dyn_cast<FloatAttr>(state.getInit());
  return state.getRole() == "moment" && value && value.getValue().isPosZero();
}

} // namespace

Status writeInitialState(ModuleOp module, const import::WeightStore &weights,
                         const std::string &path) {
  Initializer initializer(module, weights);
  std::vector<NamedTensor> tensors;
  for (auto state : module.getOps<exec::StateOp>()) {
    if (isZeroMoment(state))
      continue;
    DLC_ASSIGN(NamedTensor t, initializer.make(state));
    tensors.push_back(std::move(t));
  }
  return writeSafetensors(path, tensors);
}

} // namespace dlc
