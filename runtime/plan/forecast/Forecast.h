// SPDX-License-Identifier: Apache-2.0
// Predicts the time of a step on other numbers of devices, from a plan, the
// times of its commands and a model of links.
#pragma once

#include "runtime/plan/Figures.h"
#include "runtime/plan/forecast/Network.h"
#include "runtime/plan/plan.pb.h"

#include <string>
#include <vector>

namespace dlc::forecast {

// What is split over ranks (--zero). Gradients: they are reduce-scattered, and
// parameters all-gathered after the update. Parameters: they are also
// all-gathered before the forward and before the backward pass.
enum class ZeroLevel { None, Moments, Gradients, Parameters };
std::string_view nameOf(ZeroLevel level); // "ddp", "zero 1", ...

struct Step {
  double seconds = 0;
  double compute = 0;       // of all commands except collectives
  double communication = 0; // of the collectives
  double exposed = 0;       // part of communication that the step waits for
  double waiting = 0;       // for the slowest rank
  double copies = 0;        // of copies to the host's memory and back
  double copiesExposed = 0; // part of these that the step waits for
  uint64_t memory = 0;      // bytes per rank: all regions of the plan
  std::string algorithm;    // of the largest collective
};

// Seconds of each command of an update's programs, in order; accumulate_step
// has an entry per run.
using CommandTimes =
    std::vector<std::pair<const plan::Program *, std::vector<double>>>;

// Bytes read and written; data that a library reads twice is counted twice.
uint64_t bytesOf(const plan::Program &program, const plan::Command &command);
// By the GPU's figures: the larger of bytes / bandwidth and FLOPs / peak, with
// efficiencies.
double secondsOf(const GpuFigures &gpu, const plan::Program &program,
                 const plan::Command &command);
CommandTimes predictedTimes(const plan::Plan &plan, const GpuFigures &gpu);

// From a run's profile.json, for a plan with the same commands. Errors name the
// file; Code::Corrupt for an invalid one.
Result<CommandTimes> measuredTimes(const plan::Plan &plan,
                                   const std::string &path);

// Commands run sequentially; collectives run in parallel with them, each from
// its start in the plan to its wait. Parameters are gathered as early as their
// order allows: those of the forward pass during it (a third of the time),
// those of the backward pass during that; updates wait for theirs. `group` > 0:
// each `group` consecutive ranks split all states (--zero-group), and ranks
// with the same index in their groups reduce the scattered gradients. With
// local steps (--sync-every) each step has a share of the synchronisation's
// collectives, none of which overlaps. Each step, or synchronisation, waits for
// the slowest rank; the ranks' times vary independently.
Step predict(const plan::Plan &plan, const CommandTimes &times,
             const Network &network, int64_t ranks, ZeroLevel level,
             int64_t group = 0);

// The expected maximum of n standard normal numbers.
double expectedLargest(int64_t n);

} // namespace dlc::forecast
