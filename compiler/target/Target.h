// SPDX-License-Identifier: Apache-2.0
// What a device can do, what that costs, and how code is made for it. Passes
// and compiler/lower name no device, no vendor and no library: they ask this.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/target/Costs.h"
#include "compiler/target/TargetOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace dlc {

using ir::By;

/// A way to compute an op: by the device's library, by a kernel of our own, or
/// as the simpler ops that it means, which fuse with what stands around them.
struct Way {
  By by;
  /// Why it cannot be, after which "head dimension 12 is no multiple of 8"
  /// reads well; empty: it can.
  std::string whyNot = {};
  /// Why nobody should get it who does not ask for it; mostly empty.
  std::string caveat = {};
  /// Predicted; none: nothing is known.
  std::optional<double> seconds = {};
};
/// The preferred one first.
using Ways = llvm::SmallVector<Way, 3>;

/// How programs are lowered for a target.
struct LoweringTraits {
  /// Images are channels last where the user does not say.
  bool channelsLast = true;
  /// If they are, the filters of convolutions are as well: what the library
  /// would else rearrange in each call.
  bool filtersLast = false;
  /// Results of a reduction that leave the device's threads idle.
  int64_t fewOutputs = 16;
  /// Cheap values are computed again where that reads no more, as arithmetic
  /// costs nothing next to memory.
  bool repeatsCheapOps = false;
  /// What a pooling window reads is computed there, if that is cheap.
  bool computesInWindows = false;
  /// Activations are not kept which cheap ops make of those that are
  /// (dlc-recompute-cheap).
  bool recomputesCheap = false;
  /// Kernels of column sums also store what they add up, where it is computed
  /// from memory and others read it, too; sums of many parts run in the kernel
  /// that reduces rows of the same elements.
  bool storesSummed = false;
  /// What gradients of ReLUs read is a bit an element (dlc-pack-masks).
  bool packsMasks = false;
  /// Launches cost more than what a cache keeps: casts of all parameters are
  /// one, a loss comes with its gradient, small sums run together.
  bool fewLaunches = false;
  /// The library's convolutions read 8 channels of halves at once: strided ones
  /// of less are computed as ones of blocks of pixels (dlc-block-images).
  bool blocksFewChannels = false;
  /// Attention is one op in f32, too, where the target prefers that; else only
  /// with --amp, whose halves its ways need.
  bool attendsInF32 = false;
  /// The library's attention reads queries, keys and values in place where they
  /// lie side by side (dlc-join-attention).
  bool joinsAttention = false;
  /// The library adds up updates by rows and puts rows in place
  /// (dlc.unique_rows, dlc.put_rows).
  bool updatesRows = false;
  /// The library multiplies rows by the matrices of their groups
  /// (dlc.grouped_matmul).
  bool groupsProducts = false;
  /// Bytes of logits from which on a loss is computed in pieces of rows though
  /// memory is not short, as adding up the weight's gradient costs little; 0:
  /// never.
  int64_t largeLogits = 0;
};

struct CompiledKernels {
  std::map<std::string, std::string> files; // of the artifact: content by name
};

/// Immutable, for any number of threads.
class Target {
public:
  virtual ~Target() = default;

  virtual llvm::StringRef name() const = 0;
  virtual LoweringTraits lowering() const = 0;

  /// Whether there are several ways to compute the ops that --place calls so.
  virtual bool chooses(llvm::StringRef row) const = 0;
  /// The ways to compute `op`. One of them can be, and without a caveat.
  virtual Ways waysOf(ir::PlaceableInterface op) const = 0;
  /// The same for an attention that may not be an op yet. Without `element`
  /// shapes alone count.
  virtual Ways waysOfAttention(const ir::AttentionDims &dims,
                               mlir::Type element) const = 0;
  /// Whether the library's product `product` does `epilogue` in the same call:
  /// an activation, its gradient, or the sum over the rows of one of its
  /// operands. `kept`: what the call stores for the activation's gradient, or
  /// reads of the activation; null: nothing. The other way is Decomposed.
  virtual Ways waysOfEpilogue(ir::MatmulOp product, mlir::Operation *epilogue,
                              mlir::Value kept) const = 0;
  /// Makes the operands of an attention that the library computes those of its
  /// call; the result stays the same.
  virtual void fitCall(ir::AttentionOp op) const = 0;

  /// Predicted times in seconds: of a kernel that streams `bytes`; of a product
  /// of halves by the library, which moves `bytes`, alone or with the sums over
  /// an operand's rows; by a generated kernel.
  virtual double streaming(double bytes) const = 0;
  virtual double libraryProduct(const ProductShape &shape, double bytes,
                                bool sumsToo) const = 0;
  virtual double generatedProduct(const ProductShape &shape, double bytes,
                                  OperandCost left,
                                  OperandCost right) const = 0;

  /// Whether the device runs `kernel`, which exec.last or exec.beside cuts and
  /// which has no schedule yet, so that each part has threads enough.
  virtual bool runsParts(exec::KernelOp kernel) const { return false; }
  /// Gives each exec.kernel that has none its `threads`, by its schedule, on a
  /// device that launches grids of them. An error is a diagnostic of the
  /// kernel.
  virtual llvm::LogicalResult mapThreads(mlir::ModuleOp module) const {
    return llvm::success();
  }
  /// Compiles all exec.kernels of `module` as they are scheduled and mapped,
  /// and says in `plan` what they were compiled for. Code::Usage for options
  /// that do not exist or whose tools are missing; Code::Failed after
  /// diagnostics of the module.
  virtual Result<CompiledKernels> generate(mlir::ModuleOp module,
                                           plan::Plan &plan) const = 0;
};

/// The names of the targets that it holds for: which options make sense.
Words targetsThat(llvm::function_ref<bool(const Target &)> holds);

/// The target of that name; the options' name must be one of targetNames().
std::shared_ptr<const Target> makeTarget(const TargetOptions &options);

struct TargetType {
  std::string name; // what a plan calls it
  std::shared_ptr<const Target> (*make)(const TargetOptions &);
  void (*addOptions)(OptionTable &, TargetOptions &) = nullptr;
  /// See fitTarget; null: no device of it is looked for.
  Status (*fit)(TargetOptions &, const Words &architectures) = nullptr;
};

/// Makes the options those of programs for devices of these architectures, by
/// the words of the target's runtime; Code::Incompatible where none of them can
/// be compiled for here.
Status fitTarget(TargetOptions &options, const Words &architectures);

/// Adds to what this library has: for a program with a device of its own, whose
/// runtime half is runtime/exec/Devices.h. Before any options are read; not
/// thread-safe. The name must be new.
void registerTarget(const TargetType &type);

} // namespace dlc
