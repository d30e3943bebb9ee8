// SPDX-License-Identifier: Apache-2.0
// Gate computations of LSTM, GRU and RNN other than the matrix products.
#pragma once
#include "compiler/import/rows/Rows.h"
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
    return n.fail() << "clip is below 0";
  const size_t count = standard.size() * size_t(directions);
  const auto *given = n.find("activations"),
             *alphas = n.find("activation_alpha"),
             *betas = n.find("activation_beta");
  if (given && given->strings_size() != int(count))
    return n.fail() << "activations has " << given->strings_size()
                    << " names, expected " << count;
  int taken = 0;
  for (size_t i = 0; i < count; ++i) {
    llvm::StringRef name = standard[i % standard.size()];
    if (given)
      name = given->strings(int(i));
    const auto *known = llvm::find_if(kActivations, [&](const auto &entry) {
      return entry.name.equals_insensitive(name);
    });
    if (known == std::end(kActivations))
      return n.fail() << "activation '" << name << "' is not supported";
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

inline Value clamped(const Node &n, Value x, double low, double high) {
  x = n.make<ir::MaxOp>(x, n.constant(low, x));
  return n.make<ir::MinOp>(x, n.constant(high, x));
}

inline Value computed(const Node &n, const GateFunction &f, Value x) {
  if (f.name == "Sigmoid")
    return n.make<ir::SigmoidOp>(x);
  if (f.name == "Tanh")
    return n.make<ir::TanhOp>(x);
  if (f.name == "Relu")
    return n.make<ir::ReluOp>(x);
  if (f.name == "Softsign") {
    Value size = n.make<ir::AbsOp>(x);
    return n.make<ir::DivOp>(x, n.make<ir::AddOp>(size, n.constant(1, size)));
  }
  Value scaled = n.make<ir::MulOp>(x, n.constant(f.alpha, x)),
        line = n.make<ir::AddOp>(scaled, n.constant(f.beta, x));
  return f.name == "Affine" ? line : clamped(n, line, 0, 1);
}

} // namespace dlc::import
