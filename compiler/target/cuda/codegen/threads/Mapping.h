// SPDX-License-Identifier: Apache-2.0
// The mapping of a kernel's loops to threads.
#pragma once

#include "compiler/target/cuda/codegen/threads/Condition.h"
#include "compiler/target/cuda/codegen/threads/TileMapping.h"

namespace dlc::cuda {

constexpr int64_t kWarp = 32;
/// Bytes of the widest memory instruction.
constexpr int64_t kAccess = 16;
/// Bytes of shared memory that a kernel can use without opting in to more.
constexpr int64_t kSharedBytes = 48 << 10;
/// Largest number of elements of a thread's vector, and of the part of a row
/// that a thread keeps in registers.
constexpr int64_t kMaxVector = 8, kRegisters = 32;
constexpr int64_t kMaxBlock = 1024;
/// Threads of a block that transposes through shared memory, and the largest
/// number of arrays that it transposes.
constexpr int64_t kSquareBlock = 256;
constexpr size_t kMostSquares = 4;
/// Side of the square tiles in shared memory, in elements.
constexpr int64_t kSquare = 32;

/// A schedule's loops and their threads: `grid` one-dimensional blocks of
/// `block` threads. The kind is the schedule's:
///
///   Elementwise  a thread handles `vector` adjacent elements of outer.back(),
///                or one of the remaining elements, which do not fill a vector.
///                With `transposed` a block handles square tiles of kSquare
///                elements of that loop and of outer.back().
///   Rows         `across` threads share a row, each of which has `chunks`
///                vectors of it; a block has block / across rows. With `summed`
///                it has that many, block / across at a time, and sums their
///                columns.
///   Columns      a thread handles `vector` adjacent sums, and a block `across`
///                such vectors; block / across threads share each vector, and
///                each of them sums a part of the reduced elements.
///                With `sparse` a block has `together` rows of outer.back(): it
///                finds the few elements that are not zero in one of them
///                (`meetings`); then each warp sums the elements of some rows,
///                one vector per thread.
///
/// With `product` a block computes a tile of a matrix product instead.
struct Mapping : exec::Threads {
  /// Without threads.
  Mapping(const KernelGraph &graph, const KernelSchedule &schedule);

  KernelSchedule::Kind kind;
  /// All kept loops, and all reduced loops; the last group of `outer`
  /// (Elementwise, Columns) or `inner` (Rows) is split into vectors. Never
  /// empty: a loop of size one represents no loop.
  llvm::SmallVector<LoopGroup, 4> outer, inner;
  int64_t rows = 1; // product of outer
  int64_t row = 1;  // product of inner; unused for products
  /// Rows: number of last groups of `outer` over which columns are summed; 0:
  /// no column sums.
  int64_t summed = 0;
  /// Columns: the condition under which summed elements are not zero, which is
  /// the same for a whole vector. Null: always.
  const KernelNode *condition = nullptr;
  /// Which values of the loop before the last one have elements that are not
  /// zero; empty if the condition is of another form.
  llvm::SmallVector<Meeting, 2> meetings;
  std::optional<TileMapping> product;

  int64_t rowsSummed(const KernelGraph &graph) const;
  /// The value that `grid` must have.
  int64_t blocks() const;
  /// Number of threads for whole vectors and for remaining elements.
  int64_t elementwise() const { return rows / vector + rows % vector; }
  /// Whether 32 bits are too few for some index.
  bool needsWide(const KernelGraph &graph) const;
  /// Columns, sparse: warps that share a row of outer.back(); adjacent rows of
  /// the loop before it that a block handles, and the number of such groups.
  int64_t tiles() const;
  int64_t together() const;
  int64_t groups() const;
  /// The group that is split into vectors.
  const LoopGroup &cut() const {
    return kind == KernelSchedule::Rows ? inner.back() : outer.back();
  }
};

/// Chooses the threads of a kernel with this body and schedule, which must
/// belong together (scheduleOf).
exec::Threads decideThreads(const KernelGraph &graph,
                            const KernelSchedule &schedule);

/// The threads and the schedule of `kernel`, whose body is `graph`; an error on
/// the op if it has none, or if they do not fit the body.
llvm::FailureOr<Mapping> mappingOf(exec::KernelOp kernel,
                                   const KernelGraph &graph);

/// The mapping of the part after exec.last to the blocks that finish last, one
/// for each value of `grid`: such a block handles the columns of all blocks
/// whose index modulo `grid` is its own. Nullopt if it cannot be mapped so.
std::optional<Mapping> mappingOfLast(const Mapping &first,
                                     const KernelGraph &graph,
                                     const KernelGraph &last);

/// A part of a kernel with exec.beside: its first block has index `begin`.
struct PartBeside {
  std::unique_ptr<KernelGraph> graph;
  Mapping map;
  int64_t begin;
};
/// The mapping of such parts to the blocks of one launch. Empty if the kernel
/// has none, or if a part has a reduction or needs shared memory.
std::vector<PartBeside> mappingsBeside(exec::KernelOp kernel);
exec::Threads threadsBeside(const std::vector<PartBeside> &parts);

/// The nodes that each needed result is computed from: outputs, and operands of
/// reductions.
llvm::SmallVector<const KernelNode *> rootsOf(const KernelGraph &graph);
/// Bytes of all sums of one element.
int64_t sumBytes(const KernelGraph &graph);
/// Blocks per multiprocessor that registers must suffice for; 0: ptxas decides.
/// For column sums ptxas by default allocates so few registers that the loop's
/// loads wait for each other: sums of ResNet-50 reached 66 to 76 % of an H200's
/// copy bandwidth; with this and blocks as wide as rows 86 to 95 %.
int64_t residentBlocks(const Mapping &map, const KernelGraph &graph);
/// Shared memory through which the threads of column sums combine them: one
/// half of the threads writes its sums for the other half.
int64_t bytesToJoin(const exec::Threads &threads, int64_t sumBytes);

/// Number of adjacent elements of loop group `group` that an access at `form`
/// may have: the largest divisor of `width`, a power of two, to which the
/// access is aligned when the group's value is a multiple of `width`; 1 if it
/// is not contiguous.
int64_t contiguous(const KernelGraph &graph, const IndexForm &form,
                   const LoopGroup &group, int64_t width);

/// The loads and tables that `roots` always need, not only under a condition or
/// through a reduction.
llvm::SmallVector<const KernelNode *>
plainLoads(llvm::ArrayRef<const KernelNode *> roots);

/// The loads that `roots` always need and that are contiguous along `from`, not
/// along `to`.
llvm::SmallVector<const KernelNode *>
transposedLoads(const KernelGraph &graph,
                llvm::ArrayRef<const KernelNode *> roots, const LoopGroup &from,
                const LoopGroup &to);

/// A node that `roots` always need and that is in bounds, or out of bounds, for
/// a whole vector along `group`: a pad of a load, or a node computed from
/// several such pads with the same bounds, constants and other such nodes.
struct Guarded {
  const KernelNode *node;
  llvm::SmallVector<const KernelNode *, 2> pads;
};
/// Operands precede the nodes computed from them.
llvm::SmallVector<Guarded>
guardedLoads(const KernelGraph &graph, llvm::ArrayRef<const KernelNode *> roots,
             const LoopGroup &group);

/// Bytes of an element as stored.
int64_t storageBytes(mlir::Value tensor);

} // namespace dlc::cuda
