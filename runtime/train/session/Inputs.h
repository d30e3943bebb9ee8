// SPDX-License-Identifier: Apache-2.0
// A program's inputs, as the data must fill them, and its outputs.
#pragma once

#include "runtime/data/Loader.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Ports.h"

#include <map>
#include <string>

namespace dlc {

// Index of the output with this name; below 0 if there is none.
int findOutput(const plan::Program &program, std::string_view name);

// The type of an input or output.
const plan::TensorType &portType(const plan::Program &program,
                                 const plan::Port &port);

// The float numbers at the start of a tensor as f32; `room` holds converted
// ones.
const float *floatsOf(const TensorView &view, size_t count,
                      std::vector<std::byte> &room);

// The bytes of each array of a batch, without ownership.
using BatchView = std::span<const std::span<const std::byte>>;

// Sets the program's inputs to the arrays of a batch, in order.
Status setInputs(Executor &executor, const plan::Program &program,
                 const Batch &batch);
Status setInputs(Executor &executor, const plan::Program &program,
                 BatchView batch);

// Samples of several sources, as a data set for each length.
struct SizedData {
  std::vector<Dataset> sets;
  std::vector<int> sizes; // the model's size of each set
  // Labels that were padded, with the padding value.
  std::map<std::string, double> paddedLabels;

  int64_t samples() const;
};

// Binds sources to the inputs of programs of this kind, in order, with the size
// that fitTo() selects for each. Sources of one size become one data set; data
// sets are in the order of their first sources.
Result<SizedData>
openDatasets(const std::vector<std::shared_ptr<const Source>> &sources,
             const plan::Plan &plan, std::string_view kind,
             const SampleOptions &options, int64_t batch = 0);

// The data set of one source.
Result<Dataset> openDataset(std::shared_ptr<const Source> source,
                            const plan::Plan &plan, std::string_view kind,
                            const SampleOptions &options, int64_t batch = 0);
// The data set of the file at `path`.
Result<Dataset> openDataset(const std::string &path, const plan::Plan &plan,
                            std::string_view kind, const SampleOptions &options,
                            int64_t batch = 0);

// The model's size that a data set was bound to.
int sizeOf(const plan::Plan &plan, std::string_view kind,
           const Dataset &dataset);

// The size in whose program the inputs have these batch shapes, in order.
// Code::Usage, with the existing shapes, if there is none.
using Shapes = std::vector<std::vector<int64_t>>;
Result<int> findSize(const plan::Plan &plan, std::string_view kind,
                     const Shapes &shapes);

} // namespace dlc
