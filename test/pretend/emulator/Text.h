// SPDX-License-Identifier: Apache-2.0
// Kernels written as text.
#pragma once

#include "Patterns.h"

namespace dlc::test {

using Shape = std::vector<int64_t>;

inline std::string tensor(const Shape &shape, const std::string &type) {
  std::string s = "tensor<";
  for (int64_t d : shape)
    s += std::to_string(d) + "x";
  return s + type + ">";
}

/// Text with its variables ($X ...) replaced.
inline std::string
fill(std::string text,
     const std::vector<std::pair<std::string, std::string>> &with) {
  for (const auto &[name, value] : with)
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, name.size(), value);
  return text;
}

/// A module of kernels, numbered as they come.
class Patterns {
public:
  explicit Patterns(std::string name) : module{std::move(name), "", 0} {}
  void add(const std::string &body) {
    add("k" + std::to_string(module.kernels), body);
  }
  void add(const std::string &name, const std::string &body) {
    module.text += "exec.kernel @" + name + " {\n" + body + "}\n";
    ++module.kernels;
  }
  void addParts(const std::string &body) {
    module.text += "exec.kernel @k" + std::to_string(module.kernels++) +
                   " parted {\n" + body + "}\n";
  }
  PatternModule finish() {
    module.text = "module {\n" + module.text + "}\n";
    return std::move(module);
  }

private:
  PatternModule module;
};

/// Products on tensor cores: all orientations and awkward shapes, and the
/// larger tiles.
PatternModule productsModule();
PatternModule largeTilesModule();
PatternModule reducedProductsModule();

} // namespace dlc::test
