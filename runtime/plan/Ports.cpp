#include "runtime/plan/Ports.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc::plan {
namespace {

const auto &shapeOf(const Program &program, const Port &port) {
  return program.buffers(static_cast<int>(port.buffer())).type().shape();
}

} // namespace

const Program *findProgram(const Plan &plan, std::string_view name) {
  for (const Program &program : plan.programs())
    if (program.name() == name)
      return &program;
  return nullptr;
}

bool isLabel(const Plan &plan, std::string_view input) {
  const Program *predict = findProgram(plan, "predict");
  if (!predict)
    return input == "y";
  return std::none_of(predict->inputs().begin(), predict->inputs().end(),
                      [&](const Port &port) { return port.name() == input; });
}

Status checkInputs(const Plan &plan, const Program &program) {
  for (const Port &port : program.inputs()) {
    const auto &shape = shapeOf(program, port);
    const bool fits =
        shape.size() > 0 &&
        (isLabel(plan, port.name())
             ? shape[0] >= plan.batch() && shape[0] % plan.batch() == 0
             : shape[0] == plan.batch());
    if (!fits)
      return corrupt("input '{}' has shape [{}], expected batches of {}",
                     port.name(), fmt::join(shape, ", "), plan.batch());
  }
  return {};
}

bool isPrediction(const Program &program, const Port &output) {
  return shapeOf(program, output).size() > 0;
}

Status checkPredictions(const Plan &plan, const Program &predict) {
  bool any = false;
  for (const Port &port : predict.outputs()) {
    if (!isPrediction(predict, port))
      continue;
    any = true;
    const auto &shape = shapeOf(predict, port);
    if (shape[0] < plan.batch() || shape[0] % plan.batch() != 0)
      return corrupt("output '{}' has shape [{}], expected rows for each of {} "
                     "samples",
                     port.name(), fmt::join(shape, ", "), plan.batch());
  }
  if (!any)
    return corrupt("no output has rows for each sample");
  return {};
}

Status checkPorts(const Plan &plan) {
  for (const Program &program : plan.programs()) {
    DLC_TRY(checkInputs(plan, program));
    if (program.name() == "predict")
      DLC_TRY(checkPredictions(plan, program));
    else if (program.after().empty() &&
             std::all_of(
                 program.inputs().begin(), program.inputs().end(),
                 [&](const Port &port) { return isLabel(plan, port.name()); }))
      return corrupt("the model's result depends on no input");
  }
  return {};
}

} // namespace dlc::plan
