// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/Ports.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc::plan {
namespace {

const auto &shapeOf(const Program &program, const Port &port) {
  return program.buffers(static_cast<int>(port.buffer())).type().shape();
}

// Whether it has one or more rows per sample of a batch.
bool hasRows(const Plan &plan, const Program &program, const Port &port) {
  const auto &shape = shapeOf(program, port);
  const int64_t batch = batchOf(plan, program);
  return !shape.empty() && shape[0] >= batch && shape[0] % batch == 0;
}

// Whether the property holds in the programs of all sizes: a dimension may
// equal the batch by chance in one of them.
template <class Holds>
bool holdsInAll(const Plan &plan, const Program &program, const Port &port,
                Holds holds) {
  if (countSizes(plan) == 1)
    return holds(program, port);
  for (const Program &other : plan.programs()) {
    if (kindOf(other) != kindOf(program))
      continue;
    for (const auto *ports : {&other.inputs(), &other.outputs()})
      for (const Port &p : *ports)
        if (p.name() == port.name() && !holds(other, p))
          return false;
  }
  return true;
}

// Whether a sample is a whole set of inputs, none of which has rows.
bool areWhole(const Plan &plan, const Program &program) {
  const auto hasNoRows = [&](const Program &p, const Port &input) {
    const auto &shape = shapeOf(p, input);
    return batchOf(plan, p) == 1 && (shape.empty() || shape[0] != 1);
  };
  bool areTensors = false; // rather than only scalars
  for (const Port &port : program.inputs()) {
    if (isLabel(plan, port.name()))
      continue;
    if (!holdsInAll(plan, program, port, hasNoRows))
      return false;
    areTensors |= !shapeOf(program, port).empty();
  }
  return areTensors;
}

// "x, y -> loss, lr": the ports that programs of a kind have in common.
std::string portNames(const Program &program) {
  std::string text;
  for (const Port &port : program.inputs())
    text += port.name() + ", ";
  text += "->";
  for (const Port &port : program.outputs())
    text += " " + port.name() + ",";
  return text;
}

} // namespace

const Program *findProgram(const Plan &plan, std::string_view kind) {
  return findProgram(plan, kind, 0);
}

bool isLabel(const Plan &plan, std::string_view input) {
  const Program *predict = findProgram(plan, "predict");
  if (!predict)
    return input == "y";
  return std::none_of(predict->inputs().begin(), predict->inputs().end(),
                      [&](const Port &port) { return port.name() == input; });
}

bool padsLast(const Plan &plan) {
  const Program *train = findProgram(plan, kTrain);
  return train && std::any_of(train->inputs().begin(), train->inputs().end(),
                              [](const Port &port) {
                                return port.name() == kSampleWeight;
                              });
}

std::vector<int64_t> batchShape(const Plan &plan, const Program &program,
                                const Port &input) {
  const auto &own = shapeOf(program, input);
  std::vector<int64_t> shape(own.begin(), own.end());
  if (!isLabel(plan, input.name()) && areWhole(plan, program))
    shape.insert(shape.begin(), 1);
  return shape;
}

bool isShared(const Plan &plan, const Program &program, const Port &input) {
  if (areWhole(plan, program))
    return false;
  const auto hasBatch = [&](const Program &p, const Port &port) {
    const auto &shape = shapeOf(p, port);
    return !shape.empty() && shape[0] == batchOf(plan, p);
  };
  return !isLabel(plan, input.name()) &&
         !holdsInAll(plan, program, input, hasBatch);
}

Status checkInputs(const Plan &plan, const Program &program) {
  for (const Port &port : program.inputs())
    if (isLabel(plan, port.name()) && !hasRows(plan, program, port))
      return corrupt("input '{}' has shape [{}], expected rows for each of {} "
                     "samples; if all rows are one sample, such as a graph: "
                     "--batch=1 and --dim NAME=N for each dimension, which the "
                     "file must leave open",
                     port.name(), fmt::join(shapeOf(program, port), ", "),
                     batchOf(plan, program));
  return {};
}

bool isPrediction(const Plan &plan, const Program &program,
                  const Port &output) {
  return holdsInAll(plan, program, output,
                    [&](const Program &p, const Port &port) {
                      return hasRows(plan, p, port);
                    });
}

std::string_view updateAfter(const Plan &plan, int64_t updates) {
  const Program *start = findProgram(plan, kStart);
  return start && updates < start->updates() ? kStart : kTrain;
}

bool isFollowedBy(const Program &program, const Program &follower) {
  const std::string_view kind = kindOf(program);
  return !follower.after().empty() &&
         follower.after() == (kind == kStart ? kTrain : kind);
}

int64_t syncEvery(const Plan &plan) {
  if (findProgram(plan, kSync))
    for (const Attribute &attribute : plan.schedule())
      if (attribute.name() == "sync-every" && attribute.f() >= 1 &&
          attribute.f() <= 1 << 30)
        return static_cast<int64_t>(attribute.f());
  return 0;
}

Status checkPorts(const Plan &plan) {
  for (const Program &program : plan.programs()) {
    if (kindOf(program) == kPrefill || kindOf(program) == kDecode ||
        kindOf(program) == kSync)
      continue; // whose inputs are not samples
    DLC_TRY(checkInputs(plan, program));
    const std::string_view kind = kindOf(program);
    const Program *first = findProgram(plan, kind == kStart ? kTrain : kind);
    if (!first || portNames(*first) != portNames(program))
      return corrupt("'{}' has other inputs and outputs than the program of "
                     "the first size",
                     program.name());
    if (kind == kTrain && findProgram(plan, kStart) &&
        !findProgram(plan, kStart, static_cast<int>(program.size())))
      return corrupt("'{}' has no '{}' before it", program.name(), kStart);
    if (kindOf(program) != "predict" && program.after().empty() &&
        std::all_of(
            program.inputs().begin(), program.inputs().end(),
            [&](const Port &port) { return isLabel(plan, port.name()); }))
      return corrupt("the model's result does not depend on an input");
  }
  return {};
}

} // namespace dlc::plan
