// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/Largest.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <set>
#include <vector>

namespace dlc {
namespace {

constexpr size_t kShown = 10;

struct Tensor {
  uint64_t bytes;
  std::string name;
};

std::string describe(const plan::TensorType &type) {
  const auto element = plan::dtypeOf(type.dtype());
  return fmt::format("{} [{}]", element ? nameOf(*element) : "?",
                     fmt::join(type.shape(), ","));
}

// Adds ranges of regions that are not states, without duplicates.
void addBuffers(const plan::Plan &plan, std::vector<Tensor> &tensors) {
  std::set<std::tuple<uint32_t, uint64_t, uint64_t>> known;
  for (const plan::State &state : plan.states())
    known.emplace(state.region(), state.offset(),
                  plan::bytesOf(state.type()).value_or(0));
  for (const plan::Program &program : plan.programs())
    for (const plan::Command &command : program.commands())
      for (uint32_t id : command.outputs()) {
        const plan::Buffer &buffer = program.buffers(static_cast<int>(id));
        const uint64_t bytes = plan::bytesOf(buffer.type()).value_or(0);
        if (known.emplace(buffer.region(), buffer.offset(), bytes).second)
          tensors.push_back(
              {bytes, fmt::format("{} of '{}' in {}", describe(buffer.type()),
                                  command.label(), program.name())});
      }
}

} // namespace

Status withLargestTensors(const Status &error, const plan::Plan &plan) {
  if (error.code() != Code::Limit)
    return error;
  std::vector<Tensor> tensors;
  for (const plan::State &state : plan.states())
    tensors.push_back({plan::bytesOf(state.type()).value_or(0),
                       fmt::format("{} '{}' {}", state.role(), state.name(),
                                   describe(state.type()))});
  addBuffers(plan, tensors);
  std::stable_sort(
      tensors.begin(), tensors.end(),
      [](const Tensor &a, const Tensor &b) { return a.bytes > b.bytes; });
  std::string text = error.message() + "\nthe largest tensors:";
  for (size_t i = 0; i < std::min(kShown, tensors.size()); ++i)
    text += fmt::format("\n  {:>8.1f} MiB  {}",
                        static_cast<double>(tensors[i].bytes) / (1 << 20),
                        tensors[i].name);
  return limitExceeded("{}", text);
}

} // namespace dlc
