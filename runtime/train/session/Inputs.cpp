#include "runtime/train/session/Inputs.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/plan/Types.h"

#include <algorithm>

namespace dlc {
namespace {

InputSpec specOf(const plan::Plan &plan, const plan::Program &program,
                 const plan::Port &port) {
  const plan::TensorType &type =
      program.buffers(static_cast<int>(port.buffer())).type();
  InputSpec spec;
  spec.key = port.name();
  spec.dtype = *plan::dtypeOf(type.dtype());
  spec.shape = {type.shape().begin(), type.shape().end()};
  spec.limit = port.limit();
  spec.isLabel = isLabel(plan, port.name());
  spec.isShared = isShared(plan, program, port);
  return spec;
}

// An only input may be called x, only labels y.
void rename(std::vector<InputSpec> &specs, bool labels, const char *name,
            const Source &source) {
  auto isOne = [&](const InputSpec &spec) { return spec.isLabel == labels; };
  auto only = std::find_if(specs.begin(), specs.end(), isOne);
  if (std::count_if(specs.begin(), specs.end(), isOne) == 1 &&
      (source.has(name) || !source.has(only->key)))
    only->key = name;
}

} // namespace

int findOutput(const plan::Program &program, std::string_view name) {
  for (int i = 0; i < program.outputs_size(); ++i)
    if (program.outputs(i).name() == name)
      return i;
  return -1;
}

Status setInputs(Executor &executor, const plan::Program &program,
                 const Batch &batch) {
  if (batch.size() != static_cast<size_t>(program.inputs_size()))
    return usageError("{} takes {} inputs, found {}", program.name(),
                      program.inputs_size(), batch.size());
  for (size_t i = 0; i < batch.size(); ++i)
    DLC_TRY(executor.setInput(program.name(),
                              program.inputs(static_cast<int>(i)).name(),
                              batch[i].data(), batch[i].size()));
  return {};
}

Result<Dataset> openDataset(std::shared_ptr<const Source> source,
                            const plan::Plan &plan, std::string_view name,
                            std::optional<double> scale) {
  const plan::Program *program = findProgram(plan, name);
  if (!program)
    return failed("the model has no program '{}': was it compiled with "
                  "--predict-only?",
                  name);
  DLC_TRY(checkInputs(plan, *program));
  std::vector<InputSpec> specs;
  for (const plan::Port &port : program->inputs())
    specs.push_back(specOf(plan, *program, port));
  rename(specs, false, "x", *source);
  rename(specs, true, "y", *source);
  return Dataset::open(std::move(source), specs, plan.batch(), scale);
}

Result<Dataset> openDataset(const std::string &path, const plan::Plan &plan,
                            std::string_view program,
                            std::optional<double> scale) try {
  DLC_ASSIGN(auto source, openSource(path));
  return openDataset(std::move(source), plan, program, scale);
} catch (...) {
  return caughtException(path);
}

} // namespace dlc
