// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/RowSums.h"

#include "runtime/train/session/Inputs.h"

namespace dlc {
namespace {

constexpr std::string_view kLoss = "row_loss", kWeight = "row_weight",
                           kHits = "row_correct", kCounted = "row_counted";

double sumOf(const float *values, uint64_t count) {
  double sum = 0;
  for (uint64_t i = 0; i < count; ++i)
    sum += values[i];
  return sum;
}

} // namespace

Result<Ratio> RowPorts::add(std::span<const TensorView> outputs,
                            int64_t samples, int64_t batch) const {
  const auto part = [&](int port) -> Result<Ratio> {
    const TensorView &view = outputs[static_cast<size_t>(port)];
    const auto *values = reinterpret_cast<const float *>(view.data);
    const auto count = static_cast<int64_t>(view.bytes / sizeof(float));
    if (count == 1)
      return Ratio{values[0] * static_cast<double>(samples),
                   static_cast<double>(samples)};
    if (count == 0 || count % batch != 0)
      return corrupt("{} has {} rows, expected some for each of {} samples",
                     name, count, batch);
    const auto counted = static_cast<uint64_t>(count / batch * samples);
    return Ratio{sumOf(values, counted), static_cast<double>(counted)};
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
