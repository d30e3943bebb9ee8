// SPDX-License-Identifier: Apache-2.0
// Assigns memory to every state tensor: one flat array per role, so that one
// kernel can update all of it.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace dlc {

constexpr int64_t kAlignment = 64; // of every tensor except 16-bit states
inline int64_t alignUp(int64_t bytes, int64_t alignment = kAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}
/// Bytes of a static tensor; a bool is one byte.
int64_t byteSize(mlir::ShapedType type);

int64_t elementBytes(mlir::Type element);
/// Alignment in bytes of a state of this element type.
int64_t strideAlignment(mlir::Type element);

/// Distance to the next state of its kind: a multiple of 16 elements or of 64
/// bytes, so f32 parameters and 16-bit moments have equal element offsets.
int64_t stateStride(mlir::ShapedType type);

struct Place {
  std::string region;
  int64_t offset = 0; // bytes
};

struct StateLayout {
  llvm::StringMap<Place> places;
  llvm::StringMap<int64_t> elementBytes;            // of each state
  llvm::MapVector<mlir::StringAttr, int64_t> bytes; // of each region
};

/// Whether a program is not part of a training step: if it needs more scratch
/// than the step, it gets separate memory, since training may never run it and
/// its outputs may be large.
bool onlyPredicts(llvm::StringRef program);

/// On a module: names of parameters in memory order, as set by another size of
/// the same model.
constexpr llvm::StringLiteral kLayoutOrder = "dlc.order";

/// Trainable parameters come first, in the order in which @train_step writes
/// them, which is the order in which their gradients become available. Moments
/// and averages have the order of their parameters, so that the i-th tensors of
/// all arrays belong together and have proportional offsets.
StateLayout layoutStates(mlir::ModuleOp module);

} // namespace dlc
