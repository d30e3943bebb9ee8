// SPDX-License-Identifier: Apache-2.0
// Moments in 8 bits: a code of the dynamic map for each element, and the
// largest magnitude of each block of 256 elements (Dettmers et al. 2022, 8-bit
// Optimizers via Block-wise Quantization; the last block may be shorter).
#pragma once

#include "passes/optimizer/ParameterGroups.h"

namespace dlc {

/// A parameter's elements as rows of one block each.
class Blocks {
public:
  static constexpr int64_t kSize = 256;
  /// Smaller parameters store moments in their own type.
  static constexpr int64_t kLeastElements = 4096;

  explicit Blocks(mlir::RankedTensorType whole) : whole(whole) {}
  int64_t rank() const { return whole.getRank(); }
  int64_t count() const { return (whole.getNumElements() + kSize - 1) / kSize; }
  /// Reshapes a tensor of the parameter's shape into rows, with zeros after its
  /// last element. Pending factors of a gradient are applied after that, so
  /// that they are in one kernel with their consumers.
  ir::Expr rows(ir::Expr x) const;
  ir::Expr tensor(ir::Expr rows) const;

private:
  mlir::RankedTensorType whole;
};

/// Whether the moments of such a parameter are stored in blocks.
bool isInBlocks(const ParameterGroup &group, mlir::RankedTensorType parameter);

/// A moment between updates: the states NAME.SUFFIX with the codes, and
/// NAME.SUFFIX.absmax.
class BlockMoment {
public:
  /// Fails, with an error, if a name is taken.
  static llvm::FailureOr<BlockMoment> add(Step &step, ir::StateOp parameter,
                                          const Moment &moment);
  /// The moment's rows in f32, before the step.
  ir::Expr value() const;
  void write(Step &step, ir::Expr rows) const;

private:
  BlockMoment(ir::StateOp codes, ir::StateOp absmax, ir::Expr oldCodes,
              ir::Expr oldAbsmax, bool isNonNegative)
      : codes(codes), absmax(absmax), oldCodes(oldCodes), oldAbsmax(oldAbsmax),
        isNonNegative(isNonNegative) {}

  ir::StateOp codes, absmax;
  ir::Expr oldCodes, oldAbsmax;
  bool isNonNegative;
};

} // namespace dlc
