// A program's inputs as the data file must fill them, and its outputs.
#pragma once

#include "runtime/data/Loader.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Ports.h"

#include <optional>
#include <string>

namespace dlc {

// Which of its outputs has this name; none: below 0.
int findOutput(const plan::Program &program, std::string_view name);

// The arrays of a batch are those of the program's inputs, in order.
Status setInputs(Executor &executor, const plan::Program &program,
                 const Batch &batch);

// The data set of a source, bound to the inputs of `program` in their order. An
// input is found by its own name, or as `x` if it is the only one besides the
// labels, which are `y`.
Result<Dataset> openDataset(std::shared_ptr<const Source> source,
                            const plan::Plan &plan, std::string_view program,
                            std::optional<double> scale);
// Of the file at `path`.
Result<Dataset> openDataset(const std::string &path, const plan::Plan &plan,
                            std::string_view program,
                            std::optional<double> scale);

} // namespace dlc
