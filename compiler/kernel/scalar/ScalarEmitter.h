// SPDX-License-Identifier: Apache-2.0
// Emits the scalar computations of a kernel graph inside the current loops.
#pragma once

#include "compiler/kernel/KernelSchedule.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace dlc {

/// The type of computation: f32 for 16-bit floats, else their own type.
mlir::Type computeType(mlir::Type element);
/// The type in which elements are stored: i16 for 16-bit floats, i8 for bool.
mlir::Type storageType(mlir::Type element);

/// Emitted values are cached while the loop body (Scope) that they were emitted
/// in is open.
class ScalarEmitter {
public:
  using Values = llvm::SmallVector<mlir::Value, 1>;

  /// `loc` is the location of all ops except the bodies of ops. Accesses join
  /// `accessGroup`, if given, so loops can be marked parallel. Loops, indices
  /// and offsets have `indexType`, which must be wide enough for all of them.
  ScalarEmitter(const KernelGraph &graph, mlir::OpBuilder &b,
                mlir::Location loc, mlir::Type indexType,
                mlir::LLVM::AccessGroupAttr accessGroup = {});

  /// Sets the address of an argument or constant table.
  void setPointer(mlir::Value tensor, mlir::Value pointer) {
    pointers[tensor] = pointer;
  }
  mlir::Value pointer(mlir::Value tensor) const {
    return pointers.lookup(tensor);
  }
  /// Opens the loop of `group` at nesting `level` (0: the item, 1: the
  /// outermost loop in it ...).
  void setLoop(const LoopGroup &group, mlir::Value value, int level);
  /// Sets the value of a node (a reduction, or a value kept in a row buffer)
  /// until the end of the scope.
  void set(const KernelNode *node, mlir::Value value) {
    scopes.back()[node] = {value};
  }
  /// The values of the loop of `group`, ascending, at which conditions on that
  /// loop alone change. Empty if the code would be too large.
  llvm::SmallVector<int64_t> cuts(const LoopGroup &group) const;
  /// Called after setLoop of all loops of a nest: computes the level at which
  /// each node can be emitted.
  void findLevels();

  /// Emits everything that `roots` need and that does not depend on loops
  /// inside of `level`.
  void hoist(llvm::ArrayRef<const KernelNode *> roots, int level);
  /// The level found by findLevels().
  int levelOf(const KernelNode *node) const { return levels[node->id]; }
  /// Whether the value was emitted in a scope that is still open.
  bool knows(const KernelNode *node) const {
    return llvm::any_of(scopes, [&](auto &s) { return s.contains(node); });
  }
  mlir::Value emit(const KernelNode *node) { return emitAll(node).front(); }
  mlir::Value emit(const IndexForm &form);

  /// A constant of the index type.
  mlir::Value constant(int64_t value);
  mlir::Value number(mlir::Type type, double value);
  /// Converts an integer to another width, with sign extension.
  mlir::Value resize(mlir::Value v, mlir::Type type);
  mlir::Value element(mlir::Value pointer, mlir::Value index,
                      mlir::Type storage);
  /// Loads or stores an element, with conversion between its storage type and
  /// its compute type.
  mlir::Value load(mlir::Value pointer, mlir::Value index, mlir::Type element);
  /// Converts an element between storage type and compute type.
  mlir::Value fromStorage(mlir::Value v, mlir::Type element);
  mlir::Value toStorage(mlir::Value v, mlir::Type element);
  /// The value rounded as if it had been stored in an array of type `element`.
  mlir::Value rounded(mlir::Value v, mlir::Type element);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value index,
             mlir::Type element);
  /// Whether the element of the current loops is stored in the output (null:
  /// always).
  mlir::Value isStored(const KernelOutput &o);
  /// Runs the body if `condition` (null: true) is true.
  void where(mlir::Value condition, llvm::function_ref<void()> body);

  /// The values emitted in a scope, which can be reopened while they dominate
  /// the insertion point.
  using Memory = llvm::DenseMap<const KernelNode *, Values>;
  struct Scope {
    explicit Scope(ScalarEmitter &e, Memory *memory = nullptr)
        : e(e), memory(memory) {
      e.scopes.push_back(memory ? std::move(*memory) : Memory());
    }
    ~Scope() {
      if (memory)
        *memory = std::move(e.scopes.back());
      e.scopes.pop_back();
    }
    ScalarEmitter &e;
    Memory *memory;
  };

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type indexType;
  mlir::LLVM::AccessGroupAttr accessGroup;
  /// For launches over a part of an argument: its maximum number of elements,
  /// and the actual number, which replaces it as an upper bound.
  std::optional<std::pair<int64_t, mlir::Value>> count;
  /// The range of values of a group's loop at this point, between two cuts.
  struct Part {
    LoopGroup group;
    int64_t low, high;
  };
  std::optional<Part> part;
  bool masks = false; // the CPU has fast masked loads and stores
  int64_t roundingLanes =
      0; // f32 lanes that one native instruction rounds to bf16

  /// Whether all bounds hold; null if there are none.
  mlir::Value within(llvm::ArrayRef<KernelBound> bounds);
  /// The padding value of a Pad, in storage form.
  mlir::Value storedPad(const KernelNode *pad);

private:
  Values emitAll(const KernelNode *node);
  Values compute(const KernelNode *node);
  Values apply(const KernelNode *node);
  mlir::Value factor(const KernelNode *node);
  mlir::Value pad(const KernelNode *node);
  mlir::Value concat(const KernelNode *node, size_t operand);
  mlir::Value within(const KernelBound &bound);
  /// Whether the bound is true, or false, in all of `part`; nullopt otherwise.
  std::optional<bool> decided(const KernelBound &bound) const;
  mlir::Value position(const KernelVariable &read);
  mlir::Value splat(const KernelNode *node);
  mlir::Value widen(mlir::Value v);
  int levelOf(const IndexForm &form) const;

  const KernelGraph &graph;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::SmallVector<mlir::Value>
      loopValues; // by variable; null: not open, or part of a group
  llvm::SmallVector<int> loopLevels;
  llvm::SmallVector<int> levels; // by node
  std::vector<Memory> scopes;
};

} // namespace dlc
