// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/artifact/Adapters.h"
#include "compiler/dialect/Dlc.h"
#include "runtime/base/Json.h"
#include "runtime/base/numbers/FloatCast.h"
#include "runtime/base/options/Pattern.h"
#include <cstring>

using namespace mlir;

namespace dlc {

std::string adaptersJson(ModuleOp module) {
  auto list = module->getAttrOfType<ArrayAttr>("dlc.adapters");
  if (!list)
    return "";
  Json json = Json::array();
  for (auto entry : list.getAsRange<DictionaryAttr>()) {
    auto text = [&](const char *key) {
      return entry.getAs<StringAttr>(key).getValue().str();
    };
    json.push_back(
        {{"weight", text("weight")},
         {"a", text("a")},
         {"b", text("b")},
         {"scale", entry.getAs<FloatAttr>("scale").getValueAsDouble()},
         {"inputs_first", entry.getAs<BoolAttr>("inputs_first").getValue()}});
  }
  return dumpJson(json, 1) + "\n";
}

Result<std::vector<Adapter>> parseAdapters(std::string_view text) {
  DLC_ASSIGN(Json json, parseJson(text));
  std::vector<Adapter> adapters;
  for (const Json &entry : json) {
    Adapter adapter;
    DLC_ASSIGN(adapter.weight, jsonString(entry, "weight"));
    DLC_ASSIGN(adapter.a, jsonString(entry, "a"));
    DLC_ASSIGN(adapter.b, jsonString(entry, "b"));
    auto scale = entry.find("scale"), first = entry.find("inputs_first");
    if (scale == entry.end() || !scale->is_number() || first == entry.end() ||
        !first->is_boolean())
      return corrupt("an adapter of '{}' is not complete", adapter.weight);
    adapter.scale = scale->get<double>();
    adapter.inputsFirst = first->get<bool>();
    adapters.push_back(std::move(adapter));
  }
  return adapters;
}

namespace {

/// All elements in f64.
std::vector<double> numbers(const NamedTensor &t) {
  std::vector<double> values(t.bytes / sizeOf(t.dtype));
  auto bytes = castFloats(t.data, values.size(), t.dtype, DType::F64);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

int64_t elements(const NamedTensor &t) {
  int64_t n = 1;
  for (int64_t d : t.shape)
    n *= d;
  return n;
}

} // namespace

Status mergeAdapters(const std::vector<Adapter> &adapters,
                     NamedTensors &tensors,
                     std::deque<std::vector<std::byte>> &buffers) {
  for (const Adapter &adapter : adapters) {
    if (auto codes = tensors.find(adapter.weight);
        codes != tensors.end() && !isFloat(codes->second.dtype))
      return usageError("'{}' is stored in few bits, to which a merged weight "
                        "would have to be rounded: use --lora=adapters",
                        adapter.weight);
    for (const std::string &name : {adapter.weight, adapter.a, adapter.b})
      if (!tensors.count(name) || tensors[name].shape.empty() ||
          !isFloat(tensors[name].dtype))
        return corrupt("no weight '{}' for the adapter of '{}'", name,
                       adapter.weight);
    NamedTensor &w = tensors[adapter.weight];
    const NamedTensor &a = tensors[adapter.a], &b = tensors[adapter.b];
    int64_t rank = a.shape[0], out = b.shape[0], in = elements(a) / rank;
    if (elements(b) != out * rank || elements(w) != out * in)
      return corrupt("the adapter of '{}' does not fit its shape",
                     adapter.weight);
    const std::vector<double> down = numbers(a), up = numbers(b);
    std::vector<double> merged = numbers(w);
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i) {
        double sum = 0;
        for (int64_t r = 0; r < rank; ++r)
          sum += up[o * rank + r] * down[r * in + i];
        merged[adapter.inputsFirst ? i * out + o : o * in + i] +=
            adapter.scale * sum;
      }
    w.data = buffers
                 .emplace_back(castFloats(merged.data(), merged.size(),
                                          DType::F64, w.dtype))
                 .data();
  }
  return {};
}

} // namespace dlc
