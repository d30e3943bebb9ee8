// SPDX-License-Identifier: Apache-2.0
// Epilogues of matmul: attribute `activation`.
#pragma once

#include "runtime/device/Device.h"

namespace dlc {

enum class Activation { None, Relu, GeluTanh, Unknown };

Activation activationOf(const CommandSpec &spec);

// gelu_tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
double activate(Activation activation, double x);

} // namespace dlc
