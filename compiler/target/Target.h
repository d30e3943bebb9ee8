// SPDX-License-Identifier: Apache-2.0
// The capabilities of a device, its costs, and its code generation. Passes and
// compiler/lower do not refer to a device, a vendor or a library: they query
// this interface.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/target/AsProduct.h"
#include "compiler/target/TargetOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace dlc {

using ir::By;

/// A way to compute an op: by the device's library, by a generated kernel, or
/// decomposed into simpler ops, which fuse with their neighbours.
struct Way {
  By by;
  /// Why it is not possible, as a clause such as "head dimension 12 is no
  /// multiple of 8"; empty if it is possible.
  std::string whyNot = {};
  /// Why it is only used on request; usually empty.
  std::string caveat = {};
  /// Predicted time; unset: unknown.
  std::optional<double> seconds = {};
};
/// In order of preference.
using Ways = llvm::SmallVector<Way, 3>;

/// How programs are lowered for a target.
struct LoweringTraits {
  /// Layout of images if the user does not set one.
  bool channelsLast = true;
  /// With channels last, whether filters of convolutions are, too: the library
  /// would otherwise transpose them in each call.
  bool filtersLast = false;
  /// Number of results below which a reduction leaves most of the device's
  /// threads idle.
  int64_t fewOutputs = 16;
  /// Whether cheap values are recomputed if that reads no more data: for
  /// devices where arithmetic is much cheaper than memory access.
  bool repeatsCheapOps = false;
  /// Whether cheap inputs of a pooling window are computed in its kernel.
  bool computesInWindows = false;
  /// Whether activations that cheap ops compute from stored ones are recomputed
  /// (dlc-recompute-cheap).
  bool recomputesCheap = false;
  /// Whether kernels of column sums also store the elements that they sum, if
  /// these are computed from memory and have other uses; sums of many parts
  /// then run in the kernel that reduces rows of the same elements.
  bool storesSummed = false;
  /// Whether gradients of ReLU read masks of one bit per element
  /// (dlc-pack-masks).
  bool packsMasks = false;
  /// Whether launches cost more than cached data saves: casts of all parameters
  /// are one launch, a loss is computed with its gradient, and small sums join.
  bool fewLaunches = false;
  /// Whether the library's convolutions read 8 channels of 16-bit floats at
  /// once: strided ones with fewer channels become convolutions of pixel blocks
  /// (dlc-block-images).
  bool blocksFewChannels = false;
  /// Whether attention is one op also in f32, if the target prefers that; else
  /// only with --amp, because the target's ways need 16-bit floats.
  bool attendsInF32 = false;
  /// Whether the library's attention reads queries, keys and values from one
  /// array in which they are adjacent (dlc-join-attention).
  bool joinsAttention = false;
  /// 0 if the library sorts the updates of a table's rows (dlc.unique_rows).
  /// Else every pair of their indices is compared: so many in the time in which
  /// one element of the table moves through its gradient and update.
  double pairsPerElement = 0;
  /// Whether the library multiplies rows by the matrix of their group
  /// (dlc.grouped_matmul).
  bool groupsProducts = false;
  /// Bytes of logits above which a loss is computed in chunks of rows even if
  /// memory suffices, as accumulating the weight's gradient is cheap; 0: never.
  int64_t largeLogits = 0;
};

struct CompiledKernels {
  std::map<std::string, std::string> files; // files of the artifact, by name
};

/// Immutable and thread-safe.
class Target {
public:
  virtual ~Target() = default;

  virtual llvm::StringRef name() const = 0;
  virtual LoweringTraits lowering() const = 0;

  /// Whether ops of this name in --place can be computed in several ways.
  virtual bool chooses(llvm::StringRef row) const = 0;
  /// The ways to compute `op`. At least one is possible and has no caveat.
  virtual Ways waysOf(ir::PlaceableInterface op) const = 0;
  /// The same for an op that is one matrix product, also if that is no matmul.
  virtual Ways waysOfProduct(const AsProduct &product) const {
    return {{By::Library}};
  }
  /// The same for an attention that may not be an op yet. If `element` is null,
  /// only shapes are checked.
  virtual Ways waysOfAttention(const ir::AttentionDims &dims,
                               mlir::Type element) const = 0;
  /// Whether the library computes `epilogue` in the same call as `product`: an
  /// activation, its gradient, or the sum over the rows of one of the operands.
  /// `kept`: the value that the call stores for the activation's gradient, or
  /// reads from the activation; may be null. The alternative is Decomposed.
  virtual Ways waysOfEpilogue(ir::MatmulOp product, mlir::Operation *epilogue,
                              mlir::Value kept) const = 0;
  /// Rewrites the operands of an attention into the form that the library's
  /// call takes; the result does not change.
  virtual void fitCall(ir::AttentionOp op) const = 0;

  /// Predicted times in seconds: of a kernel that streams `bytes`; of a product
  /// of 16-bit floats by the library, which moves `bytes`, with or without sums
  /// over an operand's rows; of the same product by a generated kernel:
  /// infinite if there is none for the shape.
  virtual double streaming(double bytes) const = 0;
  virtual double libraryProduct(const ProductShape &shape, double bytes,
                                bool sumsToo) const = 0;
  virtual double generatedProduct(const ProductShape &shape, double bytes,
                                  OperandCost left,
                                  OperandCost right) const = 0;

  /// Predicted seconds of a cluster or library call; 0: unknown.
  virtual double secondsOf(mlir::Operation *command) const { return 0; }
  /// Predicted seconds of a copy of `bytes` to pinned memory of the host, or
  /// from there, while commands run; 0: the device has none.
  virtual double hostCopy(double bytes) const { return 0; }

  /// Whether the device can run `kernel`, which exec.last or exec.beside splits
  /// and which has no schedule yet, with enough threads for each part.
  virtual bool runsParts(exec::KernelOp kernel) const { return false; }
  /// Sets the `threads` of each exec.kernel that has none, from its schedule,
  /// if the device launches grids of threads. Errors are diagnostics.
  virtual llvm::LogicalResult mapThreads(mlir::ModuleOp module) const {
    return llvm::success();
  }
  /// Compiles all exec.kernels of `module` as they are scheduled and mapped,
  /// and records in `plan` what they were compiled for. Code::Usage for invalid
  /// options or missing tools; Code::Failed after diagnostics of the module.
  virtual Result<CompiledKernels> generate(mlir::ModuleOp module,
                                           plan::Plan &plan) const = 0;
};

/// The names of the targets for which `holds` is true; used to tell which
/// options apply.
Words targetsThat(llvm::function_ref<bool(const Target &)> holds);

/// The target of the options' name, which must be one of targetNames().
std::shared_ptr<const Target> makeTarget(const TargetOptions &options);

struct TargetType {
  std::string name; // its name in plans
  std::shared_ptr<const Target> (*make)(const TargetOptions &);
  void (*addOptions)(OptionTable &, TargetOptions &) = nullptr;
  /// See fitTarget; null: its devices are not detected.
  Status (*fit)(TargetOptions &, const Words &architectures) = nullptr;
};

/// Sets the options for programs that run on devices of these architectures,
/// which are named as the target's runtime names them; Code::Incompatible if
/// none of them can be compiled for.
Status fitTarget(TargetOptions &options, const Words &architectures);

/// Registers a target, for a program that brings its own device; its runtime
/// part is runtime/exec/Devices.h. Must be called before options are read; not
/// thread-safe. The name must be new.
void registerTarget(const TargetType &type);

} // namespace dlc
