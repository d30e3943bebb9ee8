// SPDX-License-Identifier: Apache-2.0
#include "test/gpu/Packs.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Files.h"

namespace dlc::test {

static std::vector<Elements> elementsFrom(const Json &list) {
  std::vector<Elements> result;
  const auto typeOf = [](const Json &name) {
    return *dtypeFromName(name.get<std::string>());
  };
  for (const Json &array : list) {
    result.push_back({typeOf(array["type"]), array["count"].get<int64_t>()});
    if (array.contains("through"))
      result.back().through = typeOf(array["through"]);
    if (array.contains("rows"))
      result.back().rows = array["rows"].get<int64_t>();
  }
  return result;
}

static PackedAttention attentionFrom(const Json &json) {
  PackedAttention a;
  AttentionShape &s = a.shape;
  const auto &sizes = json["sizes"];
  int i = 0;
  for (int64_t *size :
       {&s.batch, &s.heads, &s.queries, &s.keys, &s.depth, &s.valueDepth})
    *size = sizes[i++].get<int64_t>();
  s.causal = json["causal"].get<bool>();
  s.lengthFirst = json["length_first"].get<bool>();
  s.scale = json["scale"].get<double>();
  s.mask = json["mask"].get<std::array<int64_t, 4>>();
  a.results = json["results"].get<std::vector<std::string>>();
  return a;
}

Result<std::vector<PackedKernel>> readPack(const std::string &folder) {
  DLC_ASSIGN(const std::string text, readFile(folder + "/kernels.json"));
  DLC_ASSIGN(const Json table, parseJson(text));
  std::vector<PackedKernel> kernels;
  for (const Json &k : table) {
    kernels.push_back({k["name"], k["grid"], k["block"], k["extent"],
                       k["below"], elementsFrom(k["inputs"]),
                       elementsFrom(k["outputs"]), std::nullopt});
    if (k.contains("attention"))
      kernels.back().attention = attentionFrom(k["attention"]);
  }
  return kernels;
}

plan::Command commandOf(const PackedKernel &kernel) {
  plan::Command command;
  command.set_kind("kernel");
  command.set_label(kernel.name);
  const auto add = [&](const char *name) -> plan::Attribute & {
    plan::Attribute &attribute = *command.add_attributes();
    attribute.set_name(name);
    return attribute;
  };
  add("symbol").set_s(kernel.name);
  add("grid").set_i(kernel.grid);
  add("block").set_i(kernel.block);
  return command;
}

} // namespace dlc::test
