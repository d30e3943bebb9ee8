// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/Sizes.h"

#include <algorithm>
#include <fmt/core.h>

namespace dlc::plan {

int countSizes(const Plan &plan) { return std::max(1, plan.sizes_size()); }

int64_t batchOf(const Plan &plan, int size) {
  return size < plan.sizes_size() ? plan.sizes(size).batch() : plan.batch();
}

std::string nameOf(const Size &size) {
  std::string text = fmt::format("batch={}", size.batch());
  for (const Size::Dim &dim : size.dims())
    text += fmt::format(",{}={}", dim.name(), dim.size());
  return text;
}

std::string sizesText(const Plan &plan) {
  std::string text;
  for (const Size &size : plan.sizes())
    text += (text.empty() ? "" : "; ") + nameOf(size);
  return text.empty() ? fmt::format("batch={}", plan.batch()) : text;
}

bool haveSameSamples(const Plan &plan, int size, int other) {
  if (size == other)
    return true;
  const auto &a = plan.sizes(size).dims(), &b = plan.sizes(other).dims();
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Size::Dim &x, const Size::Dim &y) {
                      return x.name() == y.name() && x.size() == y.size();
                    });
}

std::string programName(std::string_view kind, const Size &size, int number) {
  return number == 0 ? std::string(kind)
                     : fmt::format("{}@{}", kind, nameOf(size));
}

std::string_view kindOf(const Program &program) {
  const std::string_view name = program.name();
  return name.substr(0, name.find('@'));
}

const Program *findProgram(const Plan &plan, std::string_view kind, int size) {
  for (const Program &program : plan.programs())
    if (program.size() == static_cast<uint32_t>(size) &&
        kindOf(program) == kind)
      return &program;
  return nullptr;
}

} // namespace dlc::plan
