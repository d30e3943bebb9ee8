// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/artifact/InitialState.h"
#include "compiler/dialect/Exec.h"
#include "compiler/import/repair/options/Initialize.h"
#include "compiler/lower/emit/EmitPlan.h"
#include "compiler/lower/memory/StateLayout.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/base/numbers/FloatCast.h"
#include "runtime/plan/Types.h"
#include <deque>

using namespace mlir;

namespace dlc {
namespace {

class Initializer {
public:
  Initializer(ModuleOp module, const import::WeightStore &weights)
      : symbols(module), weights(weights) {}

  Result<NamedTensor> make(exec::StateOp state) {
    auto type = llvm::cast<RankedTensorType>(state.getType());
    NamedTensor t;
    t.name = state.getSymName().str();
    std::optional<DType> dtype = typeOf(state);
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
      DType kept = typeOf(from).value_or(t.dtype);
      if (weight && weight->dtype == kept && kept == t.dtype &&
          weight->bytes == t.bytes) {
        t.data = static_cast<const std::byte *>(weight->data);
        return t;
      }
      bool isSame = weight && weight->elements() == type.getNumElements() &&
                    isFloat(weight->dtype) && isFloat(t.dtype);
      if (!isSame)
        return badModel("initializer '{}' does not have the type of state '{}'",
                        name.str(), t.name);
      cast(t, *weight, kept);
      return t;
    }
    if (auto random = dyn_cast<DictionaryAttr>(from.getInit()))
      DLC_TRY(draw(t, from.getSymName().str(), random));
    else
      fill(t, type, from.getInit());
    return t;
  }

private:
  static std::optional<DType> typeOf(exec::StateOp state) {
    auto type = llvm::cast<RankedTensorType>(state.getType());
    return plan::dtypeOf(planTypeOf(type.getElementType()));
  }
  /// {kind = "kaiming_uniform(2.236)", seed = 1}: random numbers that depend on
  /// `name`.
  Status draw(NamedTensor &t, const std::string &name, DictionaryAttr random) {
    DLC_ASSIGN(import::InitKind kind,
               import::parseInitKind(random.getAs<StringAttr>("kind").str()));
    std::string bytes = import::initialize(
        kind, {name, t.dtype, t.shape, import::fansOf(t.shape)},
        uint64_t(random.getAs<IntegerAttr>("seed").getInt()));
    auto *data = reinterpret_cast<const std::byte *>(bytes.data());
    t.data = buffers.emplace_back(data, data + bytes.size()).data();
    return {};
  }
  void fill(NamedTensor &t, RankedTensorType type, Attribute value) {
    auto element = DenseElementsAttr::get(
        RankedTensorType::get({}, type.getElementType()), value);
    ArrayRef<char> raw = element.getRawData();
    buffers.emplace_back(t.bytes, std::byte(0));
    for (size_t i = 0; i < t.bytes; i += raw.size())
      std::memcpy(&buffers.back()[i], raw.data(), raw.size());
    t.data = buffers.back().data();
  }
  /// Converts through `kept`, the type of the state of `init`, to t's.
  void cast(NamedTensor &t, const import::Weight &weight, DType kept) {
    size_t count = weight.elements();
    buffers.push_back(
        castFloats(castFloats(weight.data, count, weight.dtype, kept).data(),
                   count, kept, t.dtype));
    t.data = buffers.back().data();
  }
  SymbolTable symbols;
  const import::WeightStore &weights;
  std::deque<std::vector<std::byte>> buffers;
};

/// Moments and accumulators of zeros are not stored.
bool isLeftOut(exec::StateOp state) {
  auto value = dyn_cast<FloatAttr>(state.getInit());
  return (state.getRole() == "moment" || state.getRole() == "accumulator" ||
          state.getRole() == "error") &&
         value && value.getValue().isPosZero();
}

} // namespace

Status writeInitialState(ModuleOp module, const import::WeightStore &weights,
                         const std::string &path) {
  Initializer initializer(module, weights);
  std::vector<NamedTensor> tensors;
  for (auto state : module.getOps<exec::StateOp>()) {
    if (isLeftOut(state))
      continue;
    DLC_ASSIGN(NamedTensor t, initializer.make(state));
    tensors.push_back(std::move(t));
  }
  return writeSafetensors(path, tensors);
}

} // namespace dlc
