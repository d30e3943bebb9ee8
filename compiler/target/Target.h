// What a device can do, what that costs, and how code is made for it. Passes
// and compiler/lower name no device, no vendor and no library: they ask this.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/target/Costs.h"
#include "compiler/target/TargetOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace dlc {

/// Who computes an op: a library's call, or a kernel of our own.
enum class By { Library, Generated };
/// "library", "generated"; none for any other word.
std::optional<By> parseBy(llvm::StringRef text);
llvm::StringRef textOf(By by);

/// How programs are lowered for a target.
struct LoweringTraits {
  /// Images are channels last where the user does not say.
  bool channelsLast = true;
  /// Library ops that have a meaning in others (batch norm, pooling, gather,
  /// scatter) take it: the device has no call for them.
  bool decomposesCalls = false;
  /// Results of a reduction that leave the device's threads idle.
  int64_t fewOutputs = 16;
  /// Cheap values are computed again where that reads no more, as arithmetic
  /// costs nothing next to memory.
  bool repeatsCheapOps = false;
  /// There are generated kernels for products, and library calls that do more
  /// than a product, or norms.
  bool generatesProducts = false, hasEpilogues = false, hasNormCalls = false;
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

  /// Whether attention in halves is worth being one op where nobody asks.
  virtual bool prefersAttention() const = 0;
  /// Why `by` cannot compute attention of such operands, after which "head
  /// dimension 12 is no multiple of 8" reads well; none if it can. With `typed`
  /// element types count, else shapes alone.
  virtual std::optional<std::string>
  whyNoAttention(By by, mlir::RankedTensorType q, const ir::AttentionDims &dims,
                 bool typed) const = 0;
  /// Makes the operands of an attention that the library computes those of its
  /// call; the result stays the same.
  virtual void fitCall(ir::AttentionOp op) const = 0;
  /// Why the library has no call for a batch or layer norm, or its gradient.
  virtual std::optional<std::string>
  whyNoNormCall(mlir::Operation *norm) const = 0;

  /// Predicted times in seconds: of a kernel that streams `bytes`; of a product
  /// of halves by the library, which moves `bytes`; by a generated kernel.
  virtual double streaming(double bytes) const = 0;
  virtual double libraryProduct(const ProductShape &shape,
                                double bytes) const = 0;
  virtual double generatedProduct(const ProductShape &shape, double bytes,
                                  OperandCost left,
                                  OperandCost right) const = 0;

  /// Compiles all exec.kernels of `module`, whose launches get what the device
  /// needs, and says in `plan` what they were compiled for. Code::Usage for
  /// options that do not exist or whose tools are missing; Code::Failed after
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
};

/// Adds to what this library has: for a program with a device of its own, whose
/// runtime half is runtime/exec/Devices.h. Before any options are read; not
/// thread-safe. The name must be new.
void registerTarget(const TargetType &type);

} // namespace dlc
