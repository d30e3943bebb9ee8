// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/merged/Layers.h"
#include <string_view>

namespace dlc::import {

std::set<std::string> takeLayers(std::set<std::string> &names,
                                 const std::set<std::string> &scopes,
                                 const std::set<std::string> &buffers) {
  constexpr std::string_view kWeight = ".weight";
  std::set<std::string> layers;
  for (auto it = names.begin(); it != names.end();) {
    const std::string weight = *it++;
    if (!weight.ends_with(kWeight))
      continue;
    const std::string module = weight.substr(0, weight.size() - kWeight.size());
    const std::string bias = module + ".bias";
    if (scopes.count(module) || !names.erase(bias))
      continue;
    names.erase(weight);
    if (!buffers.count(module + ".running_mean"))
      layers.insert({weight, bias});
  }
  return layers;
}

} // namespace dlc::import
