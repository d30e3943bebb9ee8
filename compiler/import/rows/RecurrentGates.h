// SPDX-License-Identifier: Apache-2.0
// Gate computations of LSTM, GRU and RNN other than the matrix products.
#pragma once
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

/// An activation function of ONNX's recurrent operators.
struct GateFunction {
  llvm::StringRef name;
  double alpha = 0, beta = 0;
};

/// ONNX's activation functions, with the defaults of alpha and beta.
inline constexpr struct {
  llvm::StringLiteral name;
  bool takesNumbers;
  double alpha, beta;
} kActivations[] = {{"Sigmoid", false, 0, 0},        {"Tanh", false, 0, 0},
                    {"Relu", false, 0, 0},           {"Softsign", false, 0, 0},
                    {"HardSigmoid", true, 0.2, 0.5}, {"Affine", true, 1, 0}};

/// Gate settings of a node.
struct RecurrentGates {
  std::vector<GateFunction> functions; // grouped by direction
  double clip = 0;                     // 0: none
  bool coupled = false;                // the forget gate is 1 - the input gate
  Value peepholes;                     // [D, 3 H], or null

  bool isStandard(llvm::ArrayRef<llvm::StringRef> standard) const {
    if (clip || coupled || peepholes)
      return false;
    for (auto [i, f] : llvm::enumerate(functions))
      if (f.name != standard[i % standard.size()])
        return false;
    return true;
  }
};

/// Reads the settings of a node. `standard` are the functions if the node names
/// none; alpha and beta are assigned in order to the functions that take them.
inline FailureOr<RecurrentGates>
findGates(const Node &n, int64_t directions,
          llvm::ArrayRef<llvm::StringRef> standard) {
  RecurrentGates gates;
  gates.clip = n.number("clip", 0);
  gates.coupled = n.integer("input_forget", 0) != 0;
  if (gates.clip < 0)
    return n.fail("clip is below 0");
  const size_t count = standard.size() * size_t(directions);
  const auto *given = n.find("activations"),
             *alphas = n.find("activation_alpha"),
             *betas = n.find("activation_beta");
  if (given && given->strings_size() != int(count))
    return n.fail("activations has {} names, expected {}",
                  given->strings_size(), count);
  int taken = 0;
  for (size_t i = 0; i < count; ++i) {
    llvm::StringRef name = standard[i % standard.size()];
    if (given)
      name = given->strings(int(i));
    const auto *known = llvm::find_if(kActivations, [&](const auto &entry) {
      return entry.name.equals_insensitive(name);
    });
    if (known == std::end(kActivations))
      return n.fail("activation '{}' is not supported", name);
    GateFunction f{known->name, known->alpha, known->beta};
    if (known->takesNumbers) {
      if (alphas && taken < alphas->floats_size())
        f.alpha = alphas->floats(taken);
      if (betas && taken < betas->floats_size())
        f.beta = betas->floats(taken);
      ++taken;
    }
    gates.functions.push_back(f);
  }
  return gates;
}

inline Expr clamped(Expr x, double low, double high) {
  return minimum(maximum(x, low), high);
}

inline Expr computed(const GateFunction &f, Expr x) {
  if (f.name == "Sigmoid")
    return sigmoid(x);
  if (f.name == "Tanh")
    return tanh(x);
  if (f.name == "Relu")
    return x.make<ir::ReluOp>(x.v);
  if (f.name == "Softsign")
    return x / (abs(x) + 1);
  Expr line = x * f.alpha + f.beta;
  return f.name == "Affine" ? line : clamped(line, 0, 1);
}

} // namespace dlc::import
