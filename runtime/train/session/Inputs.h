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

// The data set of a source, bound to the inputs of a program in their order:
// that of this kind for the largest size whose samples have the shapes of those
// in the source, of so many rows if `batch` is not 0. An input is found by its
// own name, or as `x` if it is the only one besides the labels, which are `y`.
// Errors: none of several sizes fits, with what each takes.
Result<Dataset> openDataset(std::shared_ptr<const Source> source,
                            const plan::Plan &plan, std::string_view kind,
                            const SampleOptions &options, int64_t batch = 0);
// Of the file at `path`.
Result<Dataset> openDataset(const std::string &path, const plan::Plan &plan,
                            std::string_view kind, const SampleOptions &options,
                            int64_t batch = 0);

// The size that a data set was bound for.
int sizeOf(const plan::Plan &plan, std::string_view kind,
           const Dataset &dataset);

// The size of the batches in whose program for it the inputs have these shapes,
// in their order. Code::Usage: there is none, with those that there are.
using Shapes = std::vector<std::vector<int64_t>>;
Result<int> findSize(const plan::Plan &plan, std::string_view kind,
                     const Shapes &shapes);

} // namespace dlc
