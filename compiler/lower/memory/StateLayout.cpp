// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/StateLayout.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc {

int64_t byteSize(ShapedType type) {
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  return type.getNumElements() * ((bits + 7) / 8);
}

int64_t elementBytes(Type element) {
  return (element.getIntOrFloatBitWidth() + 7) / 8;
}

int64_t strideAlignment(Type element) {
  return std::min(kAlignment, 16 * elementBytes(element));
}

int64_t stateStride(ShapedType type) {
  return alignUp(byteSize(type), strideAlignment(type.getElementType()));
}

namespace {

/// param, buffer, const, moment.m, moment.v, ema, ema.2, accumulator, cache,
/// scalar.
std::string regionOf(ir::StateOp state) {
  switch (state.getRole()) {
  case ir::Role::scaler:
  case ir::Role::step:
    return "scalar";
  case ir::Role::accumulator: // of a gradient, of tokens, or of a result
    return state.getOf()                              ? "accumulator"
           : state.getSymName().starts_with("cache/") ? "cache"
                                                      : "scalar";
  case ir::Role::moment: // "w.m" of "w"
    return "moment" +
           state.getSymName().drop_front(state.getOf()->size()).str();
  case ir::Role::ema: // "ema.2/w" of "w"
    return state.getSymName().drop_back(state.getOf()->size() + 1).str();
  case ir::Role::factor:
  case ir::Role::error: { // "w.powersgd_q", "w.sync_m", local "w.m"
    const StringRef suffix =
        state.getSymName().drop_front(state.getOf()->size() + 1);
    return suffix.starts_with("powersgd_")
               ? "powersgd." + ir::stringifyRole(state.getRole()).str()
           : suffix.starts_with("sync_") ? "sync." + suffix.drop_front(5).str()
                                         : "moment." + suffix.str();
  }
  default:
    return ir::stringifyRole(state.getRole()).str();
  }
}

} // namespace

bool onlyPredicts(StringRef program) {
  const StringRef kind = program.split('@').first; // without its size
  return kind == "predict" || kind == "prefill" || kind == "decode";
}

StateLayout layoutStates(ModuleOp module) {
  llvm::StringMap<int64_t> written;
  if (auto order = module->getAttrOfType<ArrayAttr>(kLayoutOrder))
    for (auto name : order.getAsRange<StringAttr>())
      written.try_emplace(name.getValue(), written.size());
  module.walk([&](ir::WriteOp write) {
    written.try_emplace(write.getState(), written.size());
  });
  SmallVector<ir::StateOp> states(module.getOps<ir::StateOp>());
  llvm::StringMap<int64_t> rank;
  auto sortBy = [&](auto key) {
    llvm::stable_sort(
        states, [&](ir::StateOp a, ir::StateOp b) { return key(a) < key(b); });
  };
  sortBy([&](ir::StateOp s) {
    auto it = written.find(s.getSymName());
    bool ordered = s.getRole() == ir::Role::param && it != written.end();
    return ordered ? it->second : INT64_MAX;
  });
  llvm::StringSet<> buffers;
  for (ir::StateOp s : states) {
    rank.try_emplace(s.getSymName(), rank.size());
    if (s.getRole() == ir::Role::buffer)
      buffers.insert(s.getSymName());
  }
  sortBy([&](ir::StateOp s) { // averages of parameters before those of buffers
    StringRef of = s.getOf().value_or(s.getSymName());
    auto it = rank.find(of);
    return std::pair(buffers.contains(of),
                     it == rank.end() ? INT64_MAX : it->second);
  });

  StateLayout layout;
  for (ir::StateOp s : states) {
    std::string region = regionOf(s);
    int64_t &bytes = layout.bytes[StringAttr::get(module.getContext(), region)];
    layout.places[s.getSymName()] = {region, bytes};
    layout.elementBytes[s.getSymName()] =
        elementBytes(s.getTensorType().getElementType());
    bytes += stateStride(s.getTensorType());
  }
  return layout;
}

} // namespace dlc
