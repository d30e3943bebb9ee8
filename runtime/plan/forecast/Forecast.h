// SPDX-License-Identifier: Apache-2.0
// What a step would take on more devices than there are: a prediction from a
// plan, times of its commands and a model of links.
#pragma once

#include "runtime/plan/Figures.h"
#include "runtime/plan/forecast/Network.h"
#include "runtime/plan/plan.pb.h"

#include <string>
#include <vector>

namespace dlc::forecast {

// What each rank keeps only its share of. Gradients: those are then
// reduce-scattered, and parameters gathered after the update; parameters: they
// are gathered before the forward and before the backward pass, too.
enum class Sharding { None, Moments, Gradients, Parameters };
std::string_view nameOf(Sharding sharding); // "ddp", "zero 1", ...

struct Step {
  double seconds = 0;
  double compute = 0;       // of all commands but the collectives
  double communication = 0; // of the collectives
  double exposed = 0;       // what the step waits for them
  uint64_t memory = 0;      // bytes of a rank: all regions of the plan
  std::string algorithm;    // of the largest collective
};

// Seconds of each command of an update's programs, in their order: those of
// accumulate_step once for each time it runs.
using CommandTimes =
    std::vector<std::pair<const plan::Program *, std::vector<double>>>;

// Read and written, with what a library reads twice.
uint64_t bytesOf(const plan::Program &program, const plan::Command &command);
// By the GPU's figures: the larger of bytes over its bandwidth and FLOPs over
// its peak, of each the share that is reached.
double secondsOf(const GpuFigures &gpu, const plan::Program &program,
                 const plan::Command &command);
CommandTimes predictedTimes(const plan::Plan &plan, const GpuFigures &gpu);

// Of a run's profile.json: those of a plan of the same commands. Errors name
// the file; Code::Corrupt if it is none.
Result<CommandTimes> measuredTimes(const plan::Plan &plan,
                                   const std::string &path);

// Commands go one after the other; the collectives too, beside them, each from
// where the plan starts it, until the plan waits for it. Gathered parameters
// are as early as their order allows: those of the forward pass beside it, a
// third of the time, those of the backward pass beside that; those of an update
// are waited for.
Step predict(const plan::Plan &plan, const CommandTimes &times,
             const Network &network, int64_t ranks, Sharding sharding);

} // namespace dlc::forecast
