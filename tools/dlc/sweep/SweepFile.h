// SPDX-License-Identifier: Apache-2.0
// What a sweep was asked to try: its file, and the trials that follow from it.
//
//   sweep:
//     model: lenet.onnx       # or an artifact
//     data: train.npz
//     val: test.npz
//     method: random          # grid, random, halving, asha
//     trials: 12
//   compile: {optimizer: sgd} # flags that all trials have
//   train: {epochs: 3}
//   search:
//     compile.lr: loguniform(1e-3, 1)
//     train.seed: [0, 1, 2]
#pragma once

#include "runtime/base/options/OptionTable.h"

namespace dlc::tool {

enum class SweepMethod { Grid, Random, Halving, Asha };

// One thing that differs: a flag of compile or of train.
struct SearchedFlag {
  std::string key; // "compile.lr"
  Words choices;   // what it may be; none: a number between these
  double low = 0, high = 0;
  bool isLog = false, isWhole = false;
};

// By the names of flags, in order; "true" is the bare flag.
using FlagValues = std::vector<std::pair<std::string, std::string>>;

struct SweepTrial {
  int64_t number = 0; // the first is 1
  FlagValues values;  // by SearchedFlag::key
};

struct SweepFile {
  std::string text; // as it was read
  std::string model, data, val;
  SweepMethod method = SweepMethod::Grid;
  int64_t trials = 10; // all but grid
  uint64_t seed = 0;
  std::string metric = "loss"; // of validations: see runtime/train/run/Best.h
  int64_t epochs = 1;          // of a trial; halving, asha: of the best
  int64_t eta = 3;             // halving, asha: one of so many goes on,
  int64_t leastEpochs = 1;     // after so many epochs, and eta times as many
  FlagValues compile, train;   // of all trials
  std::vector<SearchedFlag> search;

  void addTo(OptionTable &table);
  bool isCompiled() const; // the model is an artifact already
};

// Code::Usage with line and column of what is wrong.
Result<SweepFile> readSweepFile(const std::string &path);

// Grid: all combinations, the last flag changing fastest. Else `trials` draws:
// each depends on seed, trial and key alone. Limit for more than 10000.
Result<std::vector<SweepTrial>> trialsOf(const SweepFile &file);

// Epochs at the end of each rung of successive halving (Jamieson and Talwalkar,
// Non-stochastic Best Arm Identification and Hyperparameter Optimization, 2016,
// arXiv:1502.07943): least eta^k, the last being `epochs`; rung k has
// floor(n / eta^k) trials, at least one. ASHA has the same, without waiting for
// all of a rung. Of other methods one: `epochs`.
std::vector<int64_t> rungsOf(const SweepFile &file);

} // namespace dlc::tool
