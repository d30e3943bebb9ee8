// SPDX-License-Identifier: Apache-2.0
// Where every state tensor lives: one flat array a role, so that one kernel can
// update all of it.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace dlc {

constexpr int64_t kAlignment = 64; // of every tensor but states of halves
inline int64_t alignUp(int64_t bytes, int64_t alignment = kAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}
/// Bytes of a static tensor; a bool takes one.
int64_t byteSize(mlir::ShapedType type);

int64_t elementBytes(mlir::Type element);
/// Where states of such elements may begin, in bytes.
int64_t strideAlignment(mlir::Type element);

/// The same up to the next state of its kind: whole groups of 16 elements, or
/// of 64 bytes, so that f32 parameters and their moments in half precision lie
/// at the same elements.
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

/// Whether a program is no part of a step: beside one it has memory of its own
/// where it needs more scratch. Training may never run it, and its outputs may
/// be large.
bool onlyPredicts(llvm::StringRef program);

/// Of a module, if it is there: names of parameters in the order of their
/// places, which another size of the same model has given them.
constexpr llvm::StringLiteral kLayoutOrder = "dlc.order";

/// Trainable parameters come first and in the order in which @train_step writes
/// them, which is that in which their gradients get ready. Moments and averages
/// follow the order of what they belong to, so that the i-th tensors of all
/// arrays belong together and lie at proportional offsets.
StateLayout layoutStates(mlir::ModuleOp module);

} // namespace dlc
