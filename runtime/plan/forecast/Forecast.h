// SPDX-License-Identifier: Apache-2.0
// The predicted time of a step on other numbers of devices, from a plan, the
// times of its commands and a model of links.
#pragma once

#include "runtime/plan/Figures.h"
#include "runtime/plan/forecast/Network.h"
#include "runtime/plan/plan.pb.h"

#include <string>
#include <vector>

namespace dlc::forecast {

// What the ranks split (--zero). Gradients: they are reduce-scattered, and
// parameters all-gathered after the update. Parameters: they are all-gathered
// before the forward and before the backward pass, too.
enum class ZeroLevel { None, Moments, Gradients, Parameters };
std::string_view nameOf(ZeroLevel level); // "ddp", "zero 1", ...

struct Step {
  double seconds = 0;
  double compute = 0;       // of all commands but the collectives
  double communication = 0; // of the collectives
  double exposed = 0;       // what the step waits for them
  double waiting = 0;       // for the slowest rank
  uint64_t memory = 0;      // bytes of a rank: all regions of the plan
  std::string algorithm;    // of the largest collective
};

// Seconds of each command of an update's programs, in their order: those of
// accumulate_step once for each time it runs.
using CommandTimes =
    std::vector<std::pair<const plan::Program *, std::vector<double>>>;

// Bytes read and written, counting what a library reads twice.
uint64_t bytesOf(const plan::Program &program, const plan::Command &command);
// From the GPU's figures: the larger of bytes / bandwidth and FLOPs / peak,
// with the efficiencies.
double secondsOf(const GpuFigures &gpu, const plan::Program &program,
                 const plan::Command &command);
CommandTimes predictedTimes(const plan::Plan &plan, const GpuFigures &gpu);

// From a run's profile.json, for a plan with the same commands. Errors name the
// file; Code::Corrupt for an invalid one.
Result<CommandTimes> measuredTimes(const plan::Plan &plan,
                                   const std::string &path);

// Commands run sequentially; collectives run in parallel with them, each from
// its start in the plan until the plan waits for it. Parameters are gathered as
// early as their order allows: those of the forward pass during it (a third of
// the time), those of the backward pass during that; those of an update are
// waited for. Of `group` > 0: each `group` consecutive ranks split everything
// (--zero-group); the ranks with one place in each reduce what they scatter.
// Ranks that step by themselves (--sync-every) have a share of their meeting's
// collectives in each step, none of which is hidden. Each step, or meeting,
// waits for the slowest of the ranks, whose times vary independently.
Step predict(const plan::Plan &plan, const CommandTimes &times,
             const Network &network, int64_t ranks, ZeroLevel level,
             int64_t group = 0);

// The expected largest of n standard normal numbers.
double expectedLargest(int64_t n);

} // namespace dlc::forecast
