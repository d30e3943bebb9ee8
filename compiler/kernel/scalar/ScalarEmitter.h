// SPDX-License-Identifier: Apache-2.0
// Emits the scalars of a kernel graph at the current place of the loops.
#pragma once

#include "compiler/kernel/KernelSchedule.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace dlc {

/// The type that an element is computed in: halves in f32, all others in their
/// own.
mlir::Type computeType(mlir::Type element);
/// The type that an element lies in memory as: halves as i16, bool as i8.
mlir::Type storageType(mlir::Type element);

/// Values are remembered for as long as the loop body that they were emitted in
/// (Scope) is open.
class ScalarEmitter {
public:
  using Values = llvm::SmallVector<mlir::Value, 1>;

  /// `loc` is used for all but the bodies of ops. Accesses join `accessGroup`,
  /// if there is one, so that loops can be marked parallel. Loops, indices and
  /// offsets are of `indexType`, which must hold all of them.
  ScalarEmitter(const KernelGraph &graph, mlir::OpBuilder &b,
                mlir::Location loc, mlir::Type indexType,
                mlir::LLVM::AccessGroupAttr accessGroup = {});

  /// Where arguments and constant tables lie.
  void setPointer(mlir::Value tensor, mlir::Value pointer) {
    pointers[tensor] = pointer;
  }
  mlir::Value pointer(mlir::Value tensor) const {
    return pointers.lookup(tensor);
  }
  /// Opens the loop of `group` at nesting `level` (0: the item, 1: the
  /// outermost loop in it ...).
  void setLoop(const LoopGroup &group, mlir::Value value, int level);
  /// Says what a node (a reduction, or a value kept in a row buffer) is from
  /// here to the end of the scope.
  void set(const KernelNode *node, mlir::Value value) {
    scopes.back()[node] = {value};
  }
  /// Where conditions on the loop of `group` alone begin or cease to hold:
  /// values inside of it, ascending. None if code of its own for each part
  /// would be too much.
  llvm::SmallVector<int64_t> cuts(const LoopGroup &group) const;
  /// After setLoop of all loops of a nest: computes at which level each node
  /// can be emitted.
  void findLevels();

  /// Emits what `roots` need and what does not depend on loops inside of
  /// `level`.
  void hoist(llvm::ArrayRef<const KernelNode *> roots, int level);
  /// The level of findLevels().
  int levelOf(const KernelNode *node) const { return levels[node->id]; }
  /// Whether the value was emitted in a scope that is open.
  bool knows(const KernelNode *node) const {
    return llvm::any_of(scopes, [&](auto &s) { return s.contains(node); });
  }
  mlir::Value emit(const KernelNode *node) { return emitAll(node).front(); }
  mlir::Value emit(const IndexForm &form);

  /// Of the index type.
  mlir::Value constant(int64_t value);
  mlir::Value number(mlir::Type type, double value);
  /// An integer in another width, by its sign.
  mlir::Value resize(mlir::Value v, mlir::Type type);
  mlir::Value element(mlir::Value pointer, mlir::Value index,
                      mlir::Type storage);
  /// Loads and stores an element, converting between its storage and its
  /// compute type.
  mlir::Value load(mlir::Value pointer, mlir::Value index, mlir::Type element);
  /// An element as it is loaded, in its compute type; and back.
  mlir::Value fromStorage(mlir::Value v, mlir::Type element);
  mlir::Value toStorage(mlir::Value v, mlir::Type element);
  /// A value as an array of the type would have it.
  mlir::Value rounded(mlir::Value v, mlir::Type element);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value index,
             mlir::Type element);

  /// What was emitted in a scope; it can be opened again while its values
  /// dominate the place.
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
  /// Where a launch says how many elements there are of the argument's so many:
  /// what a bound at its end is.
  std::optional<std::pair<int64_t, mlir::Value>> count;
  /// Values that the loop of a group has here, between two of its cuts.
  struct Part {
    LoopGroup group;
    int64_t low, high;
  };
  std::optional<Part> part;
  bool masks = false; // the CPU loads and stores under masks at full speed
  int64_t roundingLanes =
      0; // f32 that the CPU rounds to bf16 at once, natively

  /// Whether all bounds hold; null if there are none.
  mlir::Value within(llvm::ArrayRef<KernelBound> bounds);
  /// What a Pad has where its bounds do not hold, as memory has it.
  mlir::Value storedPad(const KernelNode *pad);

private:
  Values emitAll(const KernelNode *node);
  Values compute(const KernelNode *node);
  Values apply(const KernelNode *node);
  mlir::Value factor(const KernelNode *node);
  mlir::Value pad(const KernelNode *node);
  mlir::Value concat(const KernelNode *node, size_t operand);
  mlir::Value within(const KernelBound &bound);
  /// Whether it holds for all of `part`, or for nothing of it.
  std::optional<bool> decided(const KernelBound &bound) const;
  mlir::Value position(const KernelVariable &read);
  mlir::Value splat(const KernelNode *node);
  mlir::Value widen(mlir::Value v);
  int levelOf(const IndexForm &form) const;

  const KernelGraph &graph;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::SmallVector<mlir::Value>
      loopValues; // by variable; null: part of a group, or not open
  llvm::SmallVector<int> loopLevels;
  llvm::SmallVector<int> levels; // by node
  std::vector<Memory> scopes;
};

} // namespace dlc
