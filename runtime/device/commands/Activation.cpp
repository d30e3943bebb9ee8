// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Activation.h"
#include "runtime/plan/Attributes.h"

#include <cmath>
#include <numbers>

namespace dlc {

Activation activationOf(const CommandSpec &spec) {
  const std::string name =
      plan::stringAttribute(spec.command, "activation", "");
  if (name.empty())
    return Activation::None;
  if (name == "relu")
    return Activation::Relu;
  return name == "gelu_tanh" ? Activation::GeluTanh : Activation::Unknown;
}

double activate(Activation activation, double x) {
  switch (activation) {
  case Activation::Relu:
    return x > 0 || x != x ? x : 0;
  case Activation::GeluTanh:
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / std::numbers::pi) *
                          (x + 0.044715 * x * x * x)));
  default:
    return x;
  }
}

} // namespace dlc
