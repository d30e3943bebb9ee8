// SPDX-License-Identifier: Apache-2.0
// What looks at the results of two programs while they run.
#pragma once

#include "runtime/exec/Probe.h"
#include "runtime/plan/graph/LastWriters.h"
#include "runtime/train/compare/Closeness.h"
#include "runtime/train/compare/CompareSteps.h"

#include <map>
#include <optional>

namespace dlc {

// How small a result may be and still say something.
struct RoundingNoise {
  // Of the lowest precision among the result and what it was made of, back to
  // what was replaced.
  double epsilon = 0;
  // Mean square's root below which a result may be all rounding: what remains
  // of a sum that should be zero grows with the root of how many elements of an
  // operand make one of the result.
  double level = 0;
};

// How far results of this precision may be apart.
double toleranceOf(double epsilon, const CompareOptions &options);
double epsilonOf(const plan::TensorType &type);

// Of one command: its operands, before it runs.
class OperandsNoise {
public:
  Status read(const ProbedCommand &command);
  RoundingNoise of(const Operand &output) const;
  // What the command has put out is as exact as that, or, if it was replaced,
  // as its type.
  void remember(const Operand &output, bool isReplaced);

private:
  struct Size {
    double rootMeanSquare;
    double elements;
  };
  double epsilonAt(const Operand &operand) const;

  std::vector<Size> operands_; // of floats
  double epsilon_ = 0;
  plan::LastWriters writers_;   // of addresses: what was written, by number
  std::vector<double> written_; // epsilons
};

// A result of A.
struct KeptResult {
  const plan::Command *command = nullptr; // null: it was not computed
  plan::TensorType type;
  WideTensor values;
  RoundingNoise noise;
};
using KeptResults = std::map<ResultPlace, KeptResult>;

// Keeps those of A's results that have a partner.
class ResultKeeper final : public Probe {
public:
  ResultKeeper(const ResultPairs &pairs, KeptResults &kept);
  Status before(const ProbedCommand &command) override;
  Status after(const ProbedCommand &command) override;

private:
  KeptResults &kept_;
  OperandsNoise noise_;
};

// Compares B's results with them and, unless they may drift, replaces them. All
// that is given must outlive it.
class ResultComparer final : public Probe {
public:
  // `lossScale`: B's over A's; results of the backward pass may bear it.
  ResultComparer(const ResultPairs &pairs, const KeptResults &kept,
                 const plan::Program &program, double lossScale,
                 const CompareOptions &options);
  Status before(const ProbedCommand &command) override;
  Status after(const ProbedCommand &command) override;

  std::vector<ComparedTensor> tensors() const; // in the order of A

private:
  // A result of A, times `factor`, and how near B's is.
  struct Chosen {
    ResultPlace a;
    double factor;
    Closeness close;
  };
  std::optional<Chosen> measure(const ResultPlace &a, bool isBackward,
                                const WideTensor &b) const;
  std::optional<Chosen> nearest(const std::vector<ResultPlace> &candidates,
                                bool isBackward, const WideTensor &b) const;
  Status take(const Chosen &chosen, const ProbedCommand &command,
              const Operand &output, const WideTensor &values);

  const KeptResults &kept_;
  const int loss_;
  const double lossScale_;
  const CompareOptions &options_;
  std::map<ResultPlace, ResultPlace> certain_; // of B's, A's
  const std::map<ResultPlace, std::vector<ResultPlace>> &possible_;
  std::map<ResultPlace, ComparedTensor> found_;
  OperandsNoise noise_;
};

} // namespace dlc
