// SPDX-License-Identifier: Apache-2.0
// How a kernel's loops lie on threads.
#pragma once

#include "compiler/target/cuda/codegen/threads/Condition.h"
#include "compiler/target/cuda/codegen/threads/TileMapping.h"

namespace dlc::cuda {

constexpr int64_t kWarp = 32;
/// Bytes of the widest memory instruction.
constexpr int64_t kAccess = 16;
/// Bytes of shared memory that a kernel may have without asking.
constexpr int64_t kSharedBytes = 48 << 10;
/// Most elements of a thread's vector, and of its part of a row that it keeps
/// in registers.
constexpr int64_t kMaxVector = 8, kRegisters = 32;
constexpr int64_t kMaxBlock = 1024;
/// Threads of a block that moves squares, and most arrays that cross.
constexpr int64_t kSquareBlock = 256;
constexpr size_t kMostSquares = 4;
/// Of elements that cross shared memory.
constexpr int64_t kSquare = 32;

/// A schedule's loops with the threads that they lie on: one-dimensional blocks
/// of `block` threads, `grid` of them. The kind is the schedule's:
///
///   Elementwise  a thread has `vector` adjacent elements of outer.back(), or
///                one of the last ones, which make no vector.
///                With `transposed` a block has squares of kSquare elements of
///                that loop and of outer.back().
///   Rows         `across` threads share a row and each takes `chunks` vectors
///                of it; a block has block / across rows. With `summed` it has
///                so many, block / across at a time, and adds up their columns.
///   Columns      a thread has `vector` adjacent sums, a block `across` such
///                vectors; block / across threads share each, and every one of
///                them goes through its part of the reduced elements.
///                With `sparse` a block has `together` rows of outer.back():
///                it finds the few elements that count for one of them
///                (`meetings`); then each warp adds up those of some rows, a
///                vector a thread.
///
/// With `product` a block computes a tile of a matrix product instead.
struct Mapping : exec::Threads {
  /// Without threads.
  Mapping(const KernelGraph &graph, const KernelSchedule &schedule);

  KernelSchedule::Kind kind;
  /// All kept loops, and the reduced ones; the last of `outer` (Elementwise,
  /// Columns) or `inner` (Rows) is cut into vectors. Never empty: a loop of
  /// one stands for none.
  llvm::SmallVector<LoopGroup, 4> outer, inner;
  int64_t rows = 1; // product of outer
  int64_t row = 1;  // product of inner, but of a matrix product
  /// Rows: of the last groups of `outer`, over which columns are summed; 0:
  /// none are.
  int64_t summed = 0;
  /// Columns: all sums are of elements that count only where this holds, which
  /// is the same for a whole vector. Null: all elements count.
  const KernelNode *condition = nullptr;
  /// Which value of the loop before the last one has elements that count; empty
  /// if it is not so simple.
  llvm::SmallVector<Meeting, 2> meetings;
  std::optional<TileMapping> product;

  int64_t rowsSummed(const KernelGraph &graph) const;
  /// What `grid` has to be.
  int64_t blocks() const;
  /// Threads of a whole vector, and of one of the last elements.
  int64_t elementwise() const { return rows / vector + rows % vector; }
  /// Whether 32 bits do not hold each index.
  bool needsWide(const KernelGraph &graph) const;
  /// Columns, sparse: warps that share a row of outer.back(); adjacent rows of
  /// the loop before that a block has, and groups of so many.
  int64_t tiles() const;
  int64_t together() const;
  int64_t groups() const;
  /// The group that is cut into vectors.
  const LoopGroup &cut() const {
    return kind == KernelSchedule::Rows ? inner.back() : outer.back();
  }
};

/// How a kernel with this body and schedule, which is one of it (scheduleOf),
/// lies on threads.
exec::Threads decideThreads(const KernelGraph &graph,
                            const KernelSchedule &schedule);

/// The threads and the schedule of `kernel`, whose body is `graph`; an error on
/// the op if it has none, or others than the body can have.
llvm::FailureOr<Mapping> mappingOf(exec::KernelOp kernel,
                                   const KernelGraph &graph);

/// How what stands behind exec.last lies on the threads of the blocks that end
/// last, one for each `grid`: the columns that a block has are those of all
/// blocks with its number modulo `grid`. None: it does not lie so.
std::optional<Mapping> mappingOfLast(const Mapping &first,
                                     const KernelGraph &graph,
                                     const KernelGraph &last);

/// A part of a kernel with exec.beside: its first block is number `begin`.
struct PartBeside {
  std::unique_ptr<KernelGraph> graph;
  Mapping map;
  int64_t begin;
};
/// How such parts lie on the blocks of one launch. Empty: the kernel has none,
/// or not only parts without reductions that need no shared memory.
std::vector<PartBeside> mappingsBeside(exec::KernelOp kernel);
exec::Threads threadsBeside(const std::vector<PartBeside> &parts);

/// What each needed result comes from: outputs, and what is reduced.
llvm::SmallVector<const KernelNode *> rootsOf(const KernelGraph &graph);
/// Bytes of all sums of an element.
int64_t sumBytes(const KernelGraph &graph);
/// Blocks that a multiprocessor has to have registers for at once; 0: as ptxas
/// likes. Column sums: on its own it gives a thread so few that the loads of
/// its loop wait for each other: sums of ResNet-50 reached 66 to 76 % of an
/// H200's copy bandwidth, with this and blocks as wide as rows 86 to 95 %.
int64_t residentBlocks(const Mapping &map, const KernelGraph &graph);
/// Of shared memory through which the threads of column sums join them: one
/// half of them writes its sums there for the other.
int64_t bytesToJoin(const exec::Threads &threads, int64_t sumBytes);

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

/// Of what `roots` always need, what is in or out of bounds for all of a vector
/// along `group`: a pad of a load, or what is computed from several of them
/// with the same bounds, constants, and others before it.
struct Guarded {
  const KernelNode *node;
  llvm::SmallVector<const KernelNode *, 2> pads;
};
/// Operands come before what is computed from them.
llvm::SmallVector<Guarded>
guardedLoads(const KernelGraph &graph, llvm::ArrayRef<const KernelNode *> roots,
             const LoopGroup &group);

/// Bytes of an element in memory.
int64_t storageBytes(mlir::Value tensor);

} // namespace dlc::cuda
