// SPDX-License-Identifier: Apache-2.0
// Geometry of a convolution.
#pragma once

#include "runtime/device/commands/Window.h"

namespace dlc {

// y[n,o,..] = sum over i and taps of x[n,i,..] w[o,i,taps], within each of
// `group` groups of channels. Filters are [O,I,taps..] or, with channels last,
// [O,taps..,I].
struct Conv {
  Image x, y;
  Window window;
  int64_t group;
  bool filtersLast;

  int64_t inputs() const { return x.c / group; } // of a filter
};

// Checks x, w and y against each other and the attributes.
Result<Conv> convOf(const CommandSpec &spec, const Operand &x, const Operand &w,
                    const Operand &y);

} // namespace dlc
