// Geometry of a convolution and its reference implementation.
#pragma once

#include "runtime/device/cpu/Window.h"

namespace dlc {

// y[n,o,..] = sum over i, kh, kw of x[n,i,..] w[o,i,kh,kw], in each of `group`
// groups of channels.
struct Conv {
  Image x, y;
  Window window;
  int64_t group;
};

// Checks x, w and y against each other and the attributes.
Result<Conv> convOf(const CommandSpec &spec, const Operand &x, const Operand &w,
                    const Operand &y);

std::unique_ptr<Command> referenceConv(const CommandSpec &spec,
                                       const Conv &conv, bool hasBias);
std::unique_ptr<Command> referenceConvBackwardData(const CommandSpec &spec,
                                                   const Conv &conv);
std::unique_ptr<Command> referenceConvBackwardFilter(const CommandSpec &spec,
                                                     const Conv &conv);

} // namespace dlc
