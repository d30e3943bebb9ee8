#include "runtime/plan/Ports.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc::plan {
namespace {

const auto &shapeOf(const Program &program, const Port &port) {
  return program.buffers(static_cast<int>(port.buffer())).type().shape();
}

// One or more for each sample of a batch.
bool hasRows(const Plan &plan, const Program &program, const Port &port) {
  const auto &shape = shapeOf(program, port);
  return !shape.empty() && shape[0] >= plan.batch() &&
         shape[0] % plan.batch() == 0;
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

bool isShared(const Plan &plan, const Program &program, const Port &input) {
  const auto &shape = shapeOf(program, input);
  return !isLabel(plan, input.name()) &&
         (shape.empty() || shape[0] != plan.batch());
}

Status checkInputs(const Plan &plan, const Program &program) {
  for (const Port &port : program.inputs())
    if (isLabel(plan, port.name()) && !hasRows(plan, program, port))
      return corrupt("input '{}' has shape [{}], expected rows for each of {} "
                     "samples",
                     port.name(), fmt::join(shapeOf(program, port), ", "),
                     plan.batch());
  return {};
}

bool isPrediction(const Plan &plan, const Program &program,
                  const Port &output) {
  return hasRows(plan, program, output);
}

Status checkPorts(const Plan &plan) {
  for (const Program &program : plan.programs()) {
    DLC_TRY(checkInputs(plan, program));
    if (program.name() != "predict" && program.after().empty() &&
        std::all_of(
            program.inputs().begin(), program.inputs().end(),
            [&](const Port &port) { return isLabel(plan, port.name()); }))
      return corrupt("the model's result depends on no input");
  }
  return {};
}

} // namespace dlc::plan
