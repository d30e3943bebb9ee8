// SPDX-License-Identifier: Apache-2.0
// A cluster seen element by element: what each element of its outputs is
// computed from, and where that lies.
//
// The loops of a cluster run over the dimensions of one full index space D.
// Every tensor of the cluster is read at an index that is a linear form of the
// loop variables, so views (broadcast, reshape, transpose, slice) cost nothing:
// they only change the form. The graph is what schedules and code generators
// work on.
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
/// is not a linear form, or one that is read.
struct KernelVariable {
  enum Kind {
    Loop,
    Quotient,  // of / divisor
    Remainder, // of % divisor
    Read       // node's value, which is at index `of`; one below zero counts
               // from the end, one out of range is the nearest
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
    Load,    // element `index` of a kernel argument; its children are what the
             // index reads
    Table,   // element `index` of a dlc.constant that is no splat
    Splat,   // the value of a dlc.constant
    Index,   // dlc.iota, dlc.position: `index`
    Apply,   // result 0 of an elementwise op on `children`
    Pick,    // result `result` of the op of children[0]
    Pad,     // children[0] where all `bounds` hold, else the op's value
    Concat,  // children[k] for the first bounds[k] that holds (the last always
             // does)
    Product, // children[0] * children[1], each rounded to its element type
    Reduce   // of children[0] over the reduced loops: of a matmul the sum of a
             // Product, rounded to its element type
  };
  Kind kind;
  mlir::Value value; // the tensor
  unsigned result = 0;
  llvm::SmallVector<KernelNode *, 3> children;
  IndexForm index;
  llvm::SmallVector<KernelBound, 2> bounds;
  unsigned depth = 0;  // longest chain of reductions up to here
  unsigned id = 0;     // position in KernelGraph::nodes
  bool varies = false; // depends on a reduced loop

  mlir::Operation *op() const { return value.getDefiningOp(); }
};

struct KernelOutput {
  KernelNode *node;
  IndexForm offset; // element of the output buffer
  bool full; // one element per element of D; else one per element of the kept
             // loops
  /// Not null: a sum of `node` over the kept loops on which `offset` does not
  /// depend, beside reductions of rows.
  mlir::Operation *sum = nullptr;
};

/// The exec.last of a kernel's body; null: it has none.
mlir::Operation *lastOf(mlir::Region &body);
/// Into how many parts exec.last or exec.beside cut a kernel's body.
unsigned partsOf(mlir::Region &body);

/// The matmul of a cluster that has one: its loops, -1 for those of size one;
/// all other kept loops are its batch.
struct KernelContraction {
  ir::MatmulOp op;
  int row = -1, column = -1, depth = -1;
};

class KernelGraph {
public:
  /// Reads the one block of `body` (arguments = inputs, dlc.yield = outputs),
  /// or one of its parts, to which outputs of others are inputs, too. On
  /// failure `why` says which op is in the way. Time is linear in the number of
  /// distinct (tensor, index) pairs, which is at most kMaxNodes.
  static std::unique_ptr<KernelGraph>
  build(mlir::Region &body, std::string &why, unsigned part = 0);
  /// The same of `ops`, in order, that would be a body: what others compute is
  /// an input. Who joins ops asks here first.
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
  /// Whether it sums columns beside reductions of rows.
  bool sumsBesideRows() const;
  /// Calls f with every form that the kernel computes: its loads, stores,
  /// conditions and derived numbers.
  void forEachForm(llvm::function_ref<void(const IndexForm &)> f) const;
  /// Whether `form` depends on loop v, also through derived numbers.
  bool dependsOn(const IndexForm &form, unsigned v) const;
  /// Whether `node` itself (not its children) depends on loop v.
  bool readsLoop(const KernelNode &node, unsigned v) const;
};

} // namespace dlc
