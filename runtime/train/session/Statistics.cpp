// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/Statistics.h"

#include "runtime/plan/Types.h"
#include "runtime/train/session/Inputs.h"

namespace dlc {
namespace {

constexpr std::string_view kPrefix = "stats.";
constexpr size_t kOfParameter = 5, kOfGradient = 4; // numbers per row

// Index of the output; -1 if there is none.
Result<int> outputOf(const plan::Program &step, std::string_view name,
                     size_t numbers) {
  const int i = findOutput(step, name);
  if (i < 0)
    return i;
  const plan::TensorType &type = portType(step, step.outputs(i));
  if (type.dtype() != plan::F32 ||
      plan::bytesOf(type) != numbers * sizeof(float))
    return corrupt("output '{}' of {} does not have {} numbers", name,
                   step.name(), numbers);
  return i;
}

TensorStatistics statisticsAt(const float *numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

constexpr std::string_view kLoss = "row_loss", kWeight = "row_weight",
                           kHits = "row_correct", kCounted = "row_counted";

double sumOf(const float *values, uint64_t count) {
  double sum = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum += values[i];
  return sum;
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
  reader.parameters_ = size_t(parameters);
  reader.gradients_ = size_t(gradients);
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

Result<Ratio> RowPorts::add(std::span<const TensorView> outputs,
                            int64_t samples, int64_t batch) const {
  const auto part = [&](int port) -> Result<Ratio> {
    const TensorView &view = outputs[size_t(port)];
    const auto *values = reinterpret_cast<const float *>(view.data);
    const auto count = int64_t(view.bytes / sizeof(float));
    if (count == 1)
      return Ratio{values[0] * double(samples), double(samples)};
    if (count == 0 || count % batch != 0)
      return corrupt("{} has {} rows, expected some for each of {} samples",
                     name, count, batch);
    const auto counted = uint64_t(count / batch * samples);
    return Ratio{sumOf(values, counted), double(counted)};
  };
  DLC_ASSIGN(Ratio ratio, part(rows));
  if (weights >= 0) {
    DLC_ASSIGN(const Ratio weight, part(weights));
    ratio.weight = weight.sum;
  }
  return ratio;
}

EvalPorts evalPorts(const plan::Program &program) {
  EvalPorts ports;
  for (int i = 0; i < program.outputs_size(); ++i) {
    const std::string &name = program.outputs(i).name();
    const bool isFirst = name == kLoss;
    if (!isFirst && name.rfind(std::string(kLoss) + ".", 0) != 0)
      continue;
    const std::string weight = std::string(kWeight) + name.substr(kLoss.size());
    ports.all.push_back({name, i, findOutput(program, weight)});
  }
  if (const int hits = findOutput(program, kHits); hits >= 0) {
    ports.all.push_back(
        {std::string(kHits), hits, findOutput(program, kCounted)});
    ports.hasHits = true;
  }
  return ports;
}

} // namespace dlc
