// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/compare/ComparedStates.h"

#include "runtime/plan/graph/Commands.h"
#include "runtime/train/compare/ResultProbes.h"

#include <algorithm>
#include <cstring>

namespace dlc {
namespace {

// The change of a state in a step; it includes the rounding error of the state.
WideTensor movedFrom(const WideTensor &before, WideTensor now) {
  for (size_t i = 0; i < now.values.size(); ++i)
    now.values[i] -= before.values[i];
  return now;
}

} // namespace

Result<ComparedStates::Sides> ComparedStates::fetch(const std::string &name) {
  DLC_ASSIGN(const TensorView a, a_.fetchState(name, copyA_));
  DLC_ASSIGN(const TensorView b, b_.fetchState(name, copyB_));
  return Sides{widen(*a.type, a.data), widen(*b.type, b.data), a.type, b.type};
}

Result<std::vector<std::string>> ComparedStates::begin() {
  std::vector<std::string> names;
  for (const plan::State &state : a_.plan().states()) {
    if (!b_.hasState(state.name()))
      continue;
    DLC_ASSIGN(const TensorView a, a_.fetchState(state.name(), copyA_));
    DLC_ASSIGN(const TensorView b, b_.fetchState(state.name(), copyB_));
    const bool isSameType =
        a.bytes == b.bytes && a.type->dtype() == b.type->dtype();
    if (isSameType && std::memcmp(a.data, b.data, a.bytes) != 0) {
      names.push_back(state.name());
      if (!options_.drift)
        DLC_TRY(b_.writeState(state.name(), a.data, a.bytes));
    }
    if (state.role() == "param" && state.trainable() &&
        plan::isFloating(state.type())) {
      DLC_ASSIGN(Sides sides, fetch(state.name()));
      before_[state.name()] = {std::move(sides.a), std::move(sides.b)};
    }
  }
  return names;
}

Status ComparedStates::compare(std::vector<ComparedTensor> &tensors) {
  tolerance_ = 0;
  for (const ComparedTensor &tensor : tensors)
    tolerance_ = std::max(tolerance_, tensor.tolerance);
  for (const plan::State &state : a_.plan().states()) {
    const bool isUpdated = state.role() == "param"
                               ? before_.count(state.name()) > 0
                               : state.role() == "buffer" ||
                                     state.role() == "moment" ||
                                     state.role() == "ema";
    if (isUpdated && plan::isFloating(state.type()) &&
        b_.hasState(state.name()))
      DLC_TRY(compareOne(state, tensors));
  }
  return {};
}

Status ComparedStates::compareOne(const plan::State &state,
                                  std::vector<ComparedTensor> &tensors) {
  constexpr double kRoundings = 32;
  DLC_ASSIGN(Sides now, fetch(state.name()));
  double level = 0;
  if (const auto before = before_.find(state.name()); before != before_.end()) {
    level = kRoundings * epsilonOf(*now.typeA) * rootMeanSquare(now.a);
    now.a = movedFrom(before->second.first, std::move(now.a));
    now.b = movedFrom(before->second.second, std::move(now.b));
  }
  const auto close = compareTensors(now.a, now.b);
  if (!close)
    return {};
  const double epsilon = std::max(epsilonOf(*now.typeA), epsilonOf(*now.typeB));
  tensors.push_back(
      {.name = state.name(),
       .operationA = state.role(),
       .operationB = state.role(),
       .phase = ComparedTensor::Phase::Update,
       .typeA = *now.typeA,
       .typeB = *now.typeB,
       .error = close->error,
       .tolerance = std::max(tolerance_, toleranceOf(epsilon, options_)),
       .at = positionOf(close->worst, now.b.shape),
       .a = close->a,
       .b = close->b,
       .isNoise = rootMeanSquare(now.a) < level});
  return {};
}

} // namespace dlc
