// SPDX-License-Identifier: Apache-2.0
// Probes that compare the results of two programs while they run.
#pragma once

#include "runtime/exec/Probe.h"
#include "runtime/plan/graph/LastWriters.h"
#include "runtime/train/compare/Closeness.h"
#include "runtime/train/compare/CompareSteps.h"

#include <map>
#include <optional>

namespace dlc {

// The rounding noise of a result, which limits what can be compared.
struct RoundingNoise {
  // Epsilon of the lowest precision among the result and the values that it was
  // computed from, up to replaced ones.
  double epsilon = 0;
  // Root mean square below which a result may consist of rounding errors: the
  // error of a sum that cancels to zero grows with the square root of the
  // number of operand elements per result element.
  double level = 0;
};

// Largest accepted relative error of results of this precision.
double toleranceOf(double epsilon, const CompareOptions &options);
double epsilonOf(const plan::TensorType &type);

// Noise of a command's operands, read before it runs.
class OperandsNoise {
public:
  Status read(const ProbedCommand &command);
  RoundingNoise of(const Operand &output) const;
  // Records the precision of the command's output: that of its operands, or
  // that of its type if it was replaced.
  void remember(const Operand &output, bool isReplaced);
  // Records that the output has the operand's values, without a computation.
  void move(const ProbedCommand &command);

private:
  struct Size {
    double rootMeanSquare;
    double elements;
  };
  double epsilonAt(const Operand &operand) const;

  std::vector<Size> operands_; // floating-point operands
  double epsilon_ = 0;
  plan::LastWriters writers_;   // which command wrote an address
  std::vector<double> written_; // epsilon of each
};

// A saved result of A.
struct KeptResult {
  const plan::Command *command = nullptr; // null: it was not computed
  plan::TensorType type;
  WideTensor values;
  RoundingNoise noise;
};
using KeptResults = std::map<ResultPlace, KeptResult>;

// Saves those results of A that have a counterpart.
class ResultKeeper final : public Probe {
public:
  ResultKeeper(const ResultPairs &pairs, KeptResults &kept);
  Status before(const ProbedCommand &command) override;
  Status after(const ProbedCommand &command) override;
  void moved(const ProbedCommand &command) override { noise_.move(command); }

private:
  KeptResults &kept_;
  OperandsNoise noise_;
};

// Compares B's results with them and replaces them unless `drift` is set. All
// arguments must outlive it.
class ResultComparer final : public Probe {
public:
  // `lossScale`: B's loss scale over A's, which may be a factor of gradients.
  ResultComparer(const ResultPairs &pairs, const KeptResults &kept,
                 const plan::Program &program, double lossScale,
                 const CompareOptions &options);
  Status before(const ProbedCommand &command) override;
  Status after(const ProbedCommand &command) override;
  void moved(const ProbedCommand &command) override { noise_.move(command); }

  std::vector<ComparedTensor> tensors() const; // in the order of A

private:
  // A result of A times `factor`, and its closeness to B's.
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
  std::map<ResultPlace, ResultPlace> certain_; // B's -> A's
  const std::map<ResultPlace, std::vector<ResultPlace>> &possible_;
  std::map<ResultPlace, ComparedTensor> found_;
  OperandsNoise noise_;
};

} // namespace dlc
