// How a kernel's loops lie on threads.
#pragma once

#include "compiler/target/cuda/codegen/threads/TileMapping.h"

namespace dlc::cuda {

constexpr int64_t kWarp = 32;
/// Of elements that cross shared memory.
constexpr int64_t kSquare = 32;

/// One-dimensional blocks of `block` threads, `grid` of them (0: nothing to
/// do). The kind is the schedule's:
///
///   Elementwise  a thread has `vector` adjacent elements of outer.back().
///                With `transposed` a block has squares of kSquare elements of
///                that loop and of outer.back().
///   Rows         `across` threads share a row and each takes `chunks` vectors
///                of it; a block has block / across rows.
///   Columns      a thread has `vector` adjacent sums, a block `across` such
///                vectors; block / across threads share each, and every one of
///                them goes through its part of the reduced elements.
///                With `sparse` a warp has `chunks` vectors a thread of one row
///                of outer.back(): it finds the few elements that count
///                (`condition`) together, then each thread adds its part.
///
/// With `product` a block computes a tile of a matrix product instead.
struct Mapping {
  KernelSchedule::Kind kind;
  /// All kept loops, and the reduced ones; the last of `outer` (Elementwise,
  /// Columns) or `inner` (Rows) is cut into vectors. Never empty: a loop of
  /// one stands for none.
  llvm::SmallVector<LoopGroup, 4> outer, inner;
  int64_t rows = 1; // product of outer
  int64_t row = 1;  // product of inner
  int64_t vector = 1;
  int64_t across = 1;
  int64_t chunks = 1;
  bool inRegisters = false; // Rows: all chunks stay in registers
  /// Columns: all sums are of elements that count only where this holds, which
  /// is the same for a whole vector. Null: all elements count.
  const KernelNode *condition = nullptr;
  bool sparse = false;
  int64_t block = 1, grid = 0;
  unsigned indexBits = 32; // 64 where 32 would not do
  std::optional<TileMapping> product;
  std::optional<size_t> transposed; // in outer

  /// Columns, sparse: warps that share a row of outer.back().
  int64_t tiles() const;
  /// The group that is cut into vectors.
  const LoopGroup &cut() const {
    return kind == KernelSchedule::Rows ? inner.back() : outer.back();
  }
};

/// The schedule is one of the graph (scheduleOf).
Mapping mapKernel(const KernelGraph &graph, const KernelSchedule &schedule);

/// How many adjacent elements of loop group `group` an access at `form` may
/// take at once: the largest divisor of `width`, a power of two, to which the
/// access is aligned when the group's value is a multiple of `width`; 1 when
/// it is not contiguous.
int64_t contiguous(const KernelGraph &graph, const IndexForm &form,
                   const LoopGroup &group, int64_t width);

/// The loads and tables that `roots` always need: not those behind a condition
/// or a reduction.
llvm::SmallVector<const KernelNode *>
plainLoads(llvm::ArrayRef<const KernelNode *> roots);

/// The loads that `roots` always need and that lie along `from`, not along
/// `to`.
llvm::SmallVector<const KernelNode *>
transposedLoads(const KernelGraph &graph,
                llvm::ArrayRef<const KernelNode *> roots, const LoopGroup &from,
                const LoopGroup &to);

/// The pads among what `roots` always need whose operand is a load, in or out
/// of bounds for all of a vector along `group`.
llvm::SmallVector<const KernelNode *>
guardedLoads(const KernelGraph &graph, llvm::ArrayRef<const KernelNode *> roots,
             const LoopGroup &group);

/// Bytes of an element in memory.
int64_t storageBytes(mlir::Value tensor);

} // namespace dlc::cuda
