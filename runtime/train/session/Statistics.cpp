// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/Statistics.h"

#include "runtime/plan/Types.h"

namespace dlc {
namespace {

constexpr std::string_view kPrefix = "stats.";
constexpr size_t kOfParameter = 5, kOfGradient = 4; // numbers per row

// Index of the output; -1 if there is none.
Result<int> outputOf(const plan::Program &step, std::string_view name,
                     size_t numbers) {
  for (int i = 0; i < step.outputs_size(); ++i) {
    if (step.outputs(i).name() != name)
      continue;
    const auto id = static_cast<int>(step.outputs(i).buffer());
    const plan::TensorType &type = step.buffers(id).type();
    if (type.dtype() != plan::F32 ||
        plan::bytesOf(type) != numbers * sizeof(float))
      return corrupt("output '{}' of {} does not have {} numbers", name,
                     step.name(), numbers);
    return i;
  }
  return -1;
}

TensorStatistics statisticsAt(const float *numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

} // namespace

bool isStatistics(std::string_view output) {
  return output.starts_with(kPrefix);
}

Result<StatisticsReader> StatisticsReader::create(const plan::Plan &plan,
                                                  const plan::Program &step) {
  StatisticsReader reader;
  for (const plan::State &state : plan.states())
    if (state.trainable())
      reader.names_.push_back(state.name());
  const size_t count = reader.names_.size();
  DLC_ASSIGN(const int parameters,
             outputOf(step, "stats.parameters", kOfParameter * count));
  DLC_ASSIGN(const int gradients,
             outputOf(step, "stats.gradients", kOfGradient * count));
  if (parameters < 0 || gradients < 0) {
    reader.names_.clear();
    return reader;
  }
  reader.parameters_ = static_cast<size_t>(parameters);
  reader.gradients_ = static_cast<size_t>(gradients);
  reader.values_.resize(count);
  return reader;
}

void StatisticsReader::read(std::span<const TensorView> outputs) {
  if (values_.empty())
    return;
  const auto *parameters =
      reinterpret_cast<const float *>(outputs[parameters_].data);
  const auto *gradients =
      reinterpret_cast<const float *>(outputs[gradients_].data);
  for (size_t i = 0; i < values_.size(); ++i) {
    const float *row = parameters + kOfParameter * i;
    values_[i] = {statisticsAt(row), row[4],
                  statisticsAt(gradients + kOfGradient * i)};
  }
}

} // namespace dlc
