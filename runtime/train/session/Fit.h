// SPDX-License-Identifier: Apache-2.0
// Which of a model's sizes takes the samples of a source, as they are or filled
// up.
#pragma once

#include "runtime/data/Dataset.h"
#include "runtime/data/lengths/Padded.h"
#include "runtime/plan/Ports.h"

namespace dlc {

// The inputs of a program, as a source fills them: an input is found by its own
// name, or as `x` if it is the only one besides the labels, which are `y`.
std::vector<InputSpec> specsOf(const plan::Plan &plan,
                               const plan::Program &program,
                               const Source &source);

// A size, and what fills the samples up to it; none if they fit.
struct Fit {
  int size = 0;
  std::vector<Padding> paddings;
};

// The largest batch of the size that takes the samples as they are; else, of
// those that do so filled up by options.pads, the one with the least of it. Of
// one size, its own: what is wrong is said by who opens it. Of `batch` rows if
// that is not 0. Errors: none fits, with what each takes and what would help;
// arrays that have one length in each size, but several in the source.
Result<Fit> fitTo(const Source &source, const plan::Plan &plan,
                  std::string_view kind, int64_t batch,
                  const SampleOptions &options);

// Code::Usage for paddings of what is no input, with those that there are.
Status checkPads(const Source &source, const plan::Plan &plan,
                 const SampleOptions &options);

} // namespace dlc
