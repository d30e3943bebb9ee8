// SPDX-License-Identifier: Apache-2.0
// A program's inputs as the data file must fill them, and its outputs.
#pragma once

#include "runtime/data/Loader.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Ports.h"

#include <map>
#include <optional>
#include <string>

namespace dlc {

// Which of its outputs has this name; none: below 0.
int findOutput(const plan::Program &program, std::string_view name);

// The bytes of each array of a batch, which stay where they are.
using BatchView = std::span<const std::span<const std::byte>>;

// The arrays of a batch are those of the program's inputs, in order.
Status setInputs(Executor &executor, const plan::Program &program,
                 const Batch &batch);
Status setInputs(Executor &executor, const plan::Program &program,
                 BatchView batch);

// The samples of several sources: a data set for each length.
struct SizedData {
  std::vector<Dataset> sets;
  std::vector<int> sizes; // of the model's, of each
  // Labels that were filled up, by what.
  std::map<std::string, double> paddedLabels;

  int64_t samples() const;
};

// Bound to the inputs of programs of this kind, in their order; of each source
// to the one that fitTo() says. Sources of one size become one data set, which
// are in the order of their first ones.
Result<SizedData>
openDatasets(const std::vector<std::shared_ptr<const Source>> &sources,
             const plan::Plan &plan, std::string_view kind,
             const SampleOptions &options, int64_t batch = 0);

// That of one source.
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
