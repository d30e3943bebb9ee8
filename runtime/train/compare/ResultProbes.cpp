// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/compare/ResultProbes.h"

#include "runtime/data/Convert.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/graph/Commands.h"
#include "runtime/train/overflow/Overflow.h"

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

constexpr double kEpsilonF32 = 0x1p-24, kEpsilonF16 = 0x1p-11,
                 kEpsilonBf16 = 0x1p-8;

double countOf(const plan::TensorType &type) {
  return double(checkedElements(type.shape()).value_or(0));
}

Result<WideTensor> fetchWide(Device &device, const Operand &operand) {
  std::vector<std::byte> copy;
  DLC_ASSIGN(const std::byte *data, fetchBytes(device, operand, copy));
  return widen(*operand.type, data);
}

// Addresses of an operand, as in plan::LastWriters.
std::pair<uint64_t, uint64_t> addressesOf(const Operand &operand) {
  const auto begin = reinterpret_cast<uintptr_t>(operand.data);
  return {begin, begin + plan::bytesOf(*operand.type).value_or(0)};
}

Status replaceValues(const WideTensor &values, Device &device,
                     const Operand &output) {
  const DType type = *plan::dtypeOf(output.type->dtype());
  std::vector<std::byte> bytes(values.values.size() * sizeOf(type));
  converter(DType::F64, type,
            false)(reinterpret_cast<const std::byte *>(values.values.data()),
                   bytes.data(), values.values.size(), 1);
  return device.upload(output.data, bytes.data(), bytes.size());
}

} // namespace

double epsilonOf(const plan::TensorType &type) {
  switch (type.dtype()) {
  case plan::BF16:
    return kEpsilonBf16;
  case plan::F16:
    return kEpsilonF16;
  case plan::F64:
    return 0x1p-53;
  default:
    return kEpsilonF32;
  }
}

double toleranceOf(double epsilon, const CompareOptions &options) {
  if (options.tolerance)
    return *options.tolerance;
  return epsilon >= kEpsilonBf16 ? 6e-3 : epsilon >= kEpsilonF16 ? 1e-3 : 1e-4;
}

Status OperandsNoise::read(const ProbedCommand &c) {
  operands_.clear();
  epsilon_ = 0;
  for (const Operand &input : c.inputs) {
    if (!plan::isFloating(*input.type))
      continue;
    epsilon_ = std::max(epsilon_, epsilonAt(input));
    DLC_ASSIGN(const WideTensor wide, fetchWide(c.device, input));
    operands_.push_back({rootMeanSquare(wide), countOf(*input.type)});
  }
  return {};
}

RoundingNoise OperandsNoise::of(const Operand &output) const {
  constexpr double kRoundings = 32;
  RoundingNoise noise{std::max(epsilon_, epsilonOf(*output.type)), 0};
  const double elements = std::max(countOf(*output.type), 1.0);
  const Size *least = nullptr;
  for (const Size &operand : operands_)
    if (operand.elements > elements &&
        (!least || operand.rootMeanSquare < least->rootMeanSquare))
      least = &operand;
  if (least)
    noise.level = kRoundings * noise.epsilon * least->rootMeanSquare *
                  std::sqrt(least->elements / elements);
  return noise;
}

double OperandsNoise::epsilonAt(const Operand &operand) const {
  const auto [begin, end] = addressesOf(operand);
  std::set<int> writers;
  writers_.read(begin, end, writers);
  double epsilon = epsilonOf(*operand.type);
  for (int writer : writers)
    epsilon = std::max(epsilon, written_[size_t(writer)]);
  return epsilon;
}

void OperandsNoise::move(const ProbedCommand &c) {
  const double epsilon = epsilonAt(c.inputs[0]);
  const auto [begin, end] = addressesOf(c.outputs[0]);
  writers_.write(begin, end, static_cast<int>(written_.size()));
  written_.push_back(epsilon);
}

void OperandsNoise::remember(const Operand &output, bool isReplaced) {
  const auto [begin, end] = addressesOf(output);
  const double own = epsilonOf(*output.type);
  writers_.write(begin, end, int(written_.size()));
  written_.push_back(isReplaced ? own : std::max(own, epsilon_));
}

ResultKeeper::ResultKeeper(const ResultPairs &pairs, KeptResults &kept)
    : kept_(kept) {
  kept_.clear();
  for (const ResultPair &pair : pairs.certain)
    kept_[pair.a];
  for (const auto &[place, candidates] : pairs.possible)
    for (const ResultPlace &candidate : candidates)
      kept_[candidate];
}

Status ResultKeeper::before(const ProbedCommand &c) { return noise_.read(c); }

Status ResultKeeper::after(const ProbedCommand &c) {
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const auto found = kept_.find({c.index, int(i)});
    noise_.remember(c.outputs[i], found != kept_.end());
    if (found == kept_.end())
      continue;
    DLC_ASSIGN(WideTensor values, fetchWide(c.device, c.outputs[i]));
    found->second = {&c.command, *c.outputs[i].type, std::move(values),
                     noise_.of(c.outputs[i])};
  }
  return {};
}

ResultComparer::ResultComparer(const ResultPairs &pairs,
                               const KeptResults &kept,
                               const plan::Program &program, double lossScale,
                               const CompareOptions &options)
    : kept_(kept), loss_(plan::findLossCommand(program)), lossScale_(lossScale),
      options_(options), possible_(pairs.possible) {
  for (const ResultPair &pair : pairs.certain)
    certain_[pair.b] = pair.a;
}

Status ResultComparer::before(const ProbedCommand &c) { return noise_.read(c); }

Status ResultComparer::after(const ProbedCommand &c) {
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const ResultPlace place{c.index, int(i)};
    const auto certain = certain_.find(place);
    const auto possible = possible_.find(place);
    noise_.remember(c.outputs[i], false);
    if (certain == certain_.end() && possible == possible_.end())
      continue;
    DLC_ASSIGN(const WideTensor values, fetchWide(c.device, c.outputs[i]));
    const bool isBackward = c.index > loss_;
    if (const auto chosen = certain != certain_.end()
                                ? measure(certain->second, isBackward, values)
                                : nearest(possible->second, isBackward, values))
      DLC_TRY(take(*chosen, c, c.outputs[i], values));
  }
  return {};
}

std::optional<ResultComparer::Chosen>
ResultComparer::measure(const ResultPlace &place, bool isBackward,
                        const WideTensor &b) const {
  const WideTensor &a = kept_.at(place).values;
  std::optional<Closeness> close = compareTensors(a, b);
  if (!close)
    return std::nullopt;
  Chosen chosen{place, 1, *std::move(close)};
  if (isBackward && lossScale_ != 1)
    if (auto times = compareTensors(scaled(a, lossScale_), b);
        times->error < chosen.close.error)
      chosen = {place, lossScale_, *std::move(times)};
  return chosen;
}

std::optional<ResultComparer::Chosen>
ResultComparer::nearest(const std::vector<ResultPlace> &candidates,
                        bool isBackward, const WideTensor &b) const {
  // With a larger error, relative to the standard deviation, it is another
  // tensor.
  constexpr double kSame = 0.1;
  std::optional<Chosen> best;
  for (const ResultPlace &candidate : candidates) {
    if (found_.count(candidate))
      continue;
    auto one = measure(candidate, isBackward, b);
    if (!one)
      continue;
    const WideTensor &a = kept_.at(candidate).values;
    if (one->close.error * rootMeanSquare(a) <= kSame * standardDeviation(a) &&
        (!best || one->close.error < best->close.error))
      best = std::move(one);
  }
  return best;
}

Status ResultComparer::take(const Chosen &chosen, const ProbedCommand &c,
                            const Operand &output, const WideTensor &values) {
  const KeptResult &a = kept_.at(chosen.a);
  const Closeness &close = chosen.close;
  const WideTensor expected =
      scaled(permute(a.values, close.axes), chosen.factor);
  const RoundingNoise noise = noise_.of(output);
  // Rounding may change which element of a window is the maximum, and so where
  // its gradient goes; this does not discredit the other elements.
  const bool isBackward = c.index > loss_;
  const bool chooses = isBackward && a.noise.epsilon != noise.epsilon;
  // It may also change the terms of sums: if a share of the terms changes, a
  // sum of random signs changes by the square root of that share.
  const bool choosesTerms = chooses && values.shape.size() == 1 &&
                            plan::intAttribute(c.command, "has_bias", 0);
  const double tolerance =
      toleranceOf(std::max(noise.epsilon, a.noise.epsilon), options_);
  found_[chosen.a] = {
      .name = c.command.label(),
      .operationA = plan::operationOf(*a.command),
      .operationB = plan::operationOf(c.command),
      .phase = isBackward ? ComparedTensor::Phase::Backward
                          : ComparedTensor::Phase::Forward,
      .typeA = a.type,
      .typeB = *output.type,
      .error = chooses ? trimmedError(expected, values, 0.05) : close.error,
      .tolerance = choosesTerms && !options_.tolerance ? std::sqrt(tolerance)
                                                       : tolerance,
      .at = positionOf(close.worst, values.shape),
      .a = close.a,
      .b = close.b,
      .isNoise = rootMeanSquare(expected) <
                 std::max(noise.level, a.noise.level * chosen.factor)};
  return options_.drift ? Status() : replaceValues(expected, c.device, output);
}

std::vector<ComparedTensor> ResultComparer::tensors() const {
  std::vector<ComparedTensor> all;
  for (const auto &[place, tensor] : found_)
    all.push_back(tensor);
  return all;
}

} // namespace dlc
