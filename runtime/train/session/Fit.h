// SPDX-License-Identifier: Apache-2.0
// Selects the size of a model that fits the samples of a source, with padding
// if necessary.
#pragma once

#include "runtime/data/Dataset.h"
#include "runtime/data/lengths/Joined.h"
#include "runtime/plan/Ports.h"

namespace dlc {

// The inputs of a program with their arrays in the source: an input is found by
// its name, or as `x` if it is the only one besides the labels, which are `y`.
std::vector<InputSpec> specsOf(const plan::Plan &plan,
                               const plan::Program &program,
                               const Source &source);

// A size, and the padding that samples need for it.
struct Fit {
  int size = 0;
  std::vector<Padding> paddings;
};

// The size with the largest batch among those that fit the samples without
// padding; else among those that fit with options.pads, the one with the least
// padding. A model with one size always gets it, since opening the data set
// reports mismatches. `batch` restricts the sizes unless it is 0. Errors: no
// size fits, with the shapes of each and a remedy; an array that has the same
// length in all sizes, but different lengths in the source.
Result<Fit> fitTo(const Source &source, const plan::Plan &plan,
                  std::string_view kind, int64_t batch,
                  const SampleOptions &options);

// Code::Usage for padding of an unknown input, with the existing ones.
Status checkPads(const Source &source, const plan::Plan &plan,
                 const SampleOptions &options);

} // namespace dlc
