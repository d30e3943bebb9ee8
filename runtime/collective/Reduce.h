// Elementwise sums of the types that a collective may carry.
#pragma once

#include "runtime/base/numbers/DType.h"

#include <cstddef>

namespace dlc {

// to[i] = a[i] + b[i]; half types add in f32 and round once. `to` may be `a`.
using SumFunction = void (*)(void *to, const void *a, const void *b,
                             size_t count);

// Null for types that no collective carries.
SumFunction sumFunction(DType type);

// data[i] *= factor, for float types.
void scale(void *data, size_t count, DType type, double factor);

} // namespace dlc
