// SPDX-License-Identifier: Apache-2.0
// A cluster as scalar computations: how each element of its outputs is
// computed, and the index it is stored at.
//
// The loops of a cluster run over the dimensions of one full index space D.
// Every tensor of the cluster is read at an index that is an affine form of the
// loop variables, so views (broadcast, reshape, transpose, slice) are free:
// they only change the form. Schedules and code generators work on this graph.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/kernel/IndexForm.h"
#include "mlir/IR/Region.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLExtras.h"
#include <memory>
#include <string>
#include <vector>

namespace dlc {

struct KernelNode;

/// A loop over one dimension of D, a number derived from loops where a reshape
/// is not affine, or an index that is read from a tensor.
struct KernelVariable {
  enum Kind {
    Loop,
    Quotient,  // of / divisor
    Remainder, // of % divisor
    Read       // value of `node` at index `of`; negative values are counted
               // from the end, then clamped to the dimension
  };
  Kind kind;
  int64_t size;         // values are [0, size)
  bool reduced = false; // Loop: a dimension that the reductions run over
  IndexForm of;
  int64_t divisor = 1;
  const KernelNode *node = nullptr;
};

/// low <= form < high.
struct KernelBound {
  IndexForm form;
  int64_t low, high;
};

/// One scalar: the element of a tensor at an index.
struct KernelNode {
  enum Kind {
    Load,    // element `index` of a kernel argument; its children are the
             // nodes that the index reads
    Table,   // element `index` of a dlc.constant that is not a splat
    Splat,   // the value of a dlc.constant
    Index,   // dlc.iota, dlc.position: `index`
    Apply,   // result 0 of an elementwise op on `children`
    Pick,    // result `result` of the op of children[0]
    Pad,     // children[0] where all `bounds` hold, else the op's value
    Concat,  // children[k] for the first bounds[k] that holds (the last always
             // does)
    Product, // children[0] * children[1], each rounded to its element type
    Reduce   // of children[0] over the reduced loops: of a matmul the sum of a
             // Product, rounded to its element type; or over its rows
  };
  Kind kind;
  mlir::Value value; // the tensor that this is an element of
  unsigned result = 0;
  llvm::SmallVector<KernelNode *, 3> children;
  IndexForm index;
  llvm::SmallVector<KernelBound, 2> bounds;
  unsigned depth = 0;  // longest chain of reductions that ends here
  unsigned id = 0;     // position in KernelGraph::nodes
  bool varies = false; // depends on a reduced loop

  mlir::Operation *op() const { return value.getDefiningOp(); }
};

struct KernelOutput {
  KernelNode *node;
  IndexForm offset; // element of the output buffer that is stored
  bool full; // one element per element of D; else one per element of the kept
             // loops
  /// If not null: a sum of `node` over the kept loops that `offset` does not
  /// depend on, in a kernel that also reduces rows.
  mlir::Operation *sum = nullptr;
  /// One element per element of the kept loops except a contraction's rows: it
  /// depends on sums over these.
  bool perColumn = false;
  /// If not null: an index of dlc.put_rows. Elements are only stored where it
  /// is in [0, rows); the others of the output keep what is in its memory.
  const KernelNode *row = nullptr;
  int64_t rows = 0;
};

/// The exec.last of a kernel's body, or null.
mlir::Operation *lastOf(mlir::Region &body);
/// Number of parts into which exec.last or exec.beside splits a kernel's body.
unsigned partsOf(mlir::Region &body);

/// The loops of a cluster's matmul, -1 for loops of size one; all other kept
/// loops are batch dimensions. Elements of the result can be reduced over the
/// rows (KernelNode::Reduce of depth 2).
struct KernelContraction {
  ir::MatmulOp op;
  int row = -1, column = -1, depth = -1;
  /// An element of the result, and that of the first row in the same column;
  /// null if it is not read.
  const KernelNode *element = nullptr, *first = nullptr;
};

class KernelGraph {
public:
  /// Reads the single block of `body` (arguments = inputs, dlc.yield =
  /// outputs), or one of its parts, whose inputs include outputs of other
  /// parts. On failure returns null, and `why` names the op that is not
  /// supported. Time is linear in the number of distinct (tensor, index) pairs,
  /// which is at most kMaxNodes.
  static std::unique_ptr<KernelGraph>
  build(mlir::Region &body, std::string &why, unsigned part = 0);
  /// The same for `ops`, in order, as if they were a body: values that other
  /// ops compute are inputs. Passes that fuse ops ask this first.
  static std::unique_ptr<KernelGraph>
  build(llvm::ArrayRef<mlir::Operation *> ops,
        llvm::ArrayRef<mlir::Value> outputs, std::string &why);

  std::vector<KernelVariable>
      variables; // the loops of D in order, then derived ones
  std::vector<std::unique_ptr<KernelNode>> nodes; // children before parents
  std::vector<KernelOutput> outputs;
  bool reduces = false;
  unsigned depth = 0; // of the deepest reduction
  KernelContraction contraction;

  int64_t extent(bool reduced) const;
  /// Whether it has column sums in addition to row reductions.
  bool sumsBesideRows() const;
  /// Whether results of its product are reduced over their rows.
  bool reducesProductRows() const { return contraction.op && depth > 1; }
  /// Calls f with every form that the kernel evaluates: those of loads, stores,
  /// conditions and derived numbers.
  void forEachForm(llvm::function_ref<void(const IndexForm &)> f) const;
  /// Whether `form` depends on loop v, also through derived numbers.
  bool dependsOn(const IndexForm &form, unsigned v) const;
  /// Whether `node` itself (not its children) depends on loop v.
  bool readsLoop(const KernelNode &node, unsigned v) const;
};

} // namespace dlc
