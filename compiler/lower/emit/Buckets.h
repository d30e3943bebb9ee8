// The collectives of a program, by their numbers and places.
#pragma once

#include "compiler/dialect/Exec.h"

namespace dlc {

/// A number that no collective of the program has, nor any above it.
int64_t firstFreeBucket(exec::ProgramOp program);

/// Of a program that reduces gradients (kGradientHead): where, in the parameter
/// region, those begin whose gradients travel together.
llvm::SmallVector<int64_t> parameterBuckets(exec::ProgramOp program);

} // namespace dlc
