// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/Cpu.h"
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/ops/Ranks.h"
#include "compiler/target/cpu/ConvWays.h"
#include "compiler/target/cpu/codegen/CpuCodegen.h"
#include "runtime/base/files/CacheFolder.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;

namespace dlc {
namespace {

/// The runtime's batch norm only computes statistics of this rank's batch.
bool isOfAllRanks(Operation *op) { return op->hasAttr(ir::kNormBucket); }

/// The runtime's attention adds f32 masks.
void addsMaskInF32(ir::AttentionOp op) {
  OpBuilder b(op);
  ir::Expr mask = ir::addedMask({b, op.getLoc(), op.getMask()});
  op.getMaskMutable().assign(mask.cast(b.getF32Type()).v);
}

/// Where objects of earlier compilations are; empty if there is no cache, or
/// others could have written to it.
std::string objectFolder() {
  const std::string folder = cacheFolder("");
  const bool isOwn = !folder.empty() && checkCacheOwner(folder).ok();
  return isOwn ? folder + "/objects" : "";
}

/// On a CPU most ops can be computed in one way only; `chooses` has the others.
class Cpu final : public Target {
public:
  explicit Cpu(const TargetOptions &options)
      : target(resolveCpuTarget(options.cpu, &why)),
        convError(options.convError) {}

  StringRef name() const override { return "cpu"; }
  LoweringTraits lowering() const override {
    return {.repeatsCheapOps = true,
            .recomputesCheap = true,
            .attendsInF32 = true,
            .joinsAttention = true,
            .groupsProducts = true,
            .largeLogits = int64_t(64) << 20};
  }

  bool chooses(StringRef row) const override {
    return llvm::is_contained<StringRef>(
        {"conv", "attention", "norm", "grouped_matmul"}, row);
  }
  Ways waysOf(ir::PlaceableInterface op) const override {
    if (isa<ir::AttentionOp, ir::AttentionBackwardOp>(op))
      return waysOfAttention(ir::AttentionDims::of(op.getOperation()),
                             ir::elementType(op->getOperand(0)));
    if (op.placedAs() == "conv")
      return waysOfConv(op, mlir::succeeded(target) ? *target : CpuTarget{},
                        convError == "fast");
    if (isOfAllRanks(op))
      return {
          {By::Decomposed},
          {By::Library, "its statistics are those of all ranks (--sync-bn)"}};
    if (op.placedAs() == "norm")
      return norm(op);
    if (op.placedAs() == "grouped_matmul" || op.placedAs() == "unique_rows")
      return {{By::Library}, {By::Decomposed}};
    if (op.placedAs() == "put_rows")
      return {{By::Library}, {By::Generated}};
    if (op.placedAs() == "scaled_matmul")
      return {{By::Decomposed}};
    return isa<ir::LibraryInterface>(*op) ? Ways{{By::Library}}
                                          : Ways{{By::Decomposed}};
  }
  Ways waysOfAttention(const ir::AttentionDims &dims,
                       Type element) const override {
    return attention(dims, element);
  }
  Ways waysOfEpilogue(ir::MatmulOp, Operation *, Value) const override {
    return {{By::Decomposed}};
  }
  void fitCall(ir::AttentionOp op) const override {
    if (op.getMask())
      addsMaskInF32(op);
  }

  double streaming(double) const override { return 0; }
  double libraryProduct(const ProductShape &, double, bool) const override {
    return 0;
  }
  double generatedProduct(const ProductShape &, double, OperandCost,
                          OperandCost) const override {
    return std::numeric_limits<double>::infinity();
  }

  Result<CompiledKernels> generate(ModuleOp module,
                                   plan::Plan &plan) const override {
    if (mlir::failed(target))
      return usageError("--cpu: {}", why);
    CpuCodegenOptions options;
    options.cacheDir = objectFolder();
    SmallVector<char> code;
    if (mlir::failed(compileKernels(module, *target, options, code)))
      return failed("the kernels cannot be compiled");
    plan.set_cpu(target->cpu);
    for (const std::string &feature : target->features)
      plan.add_cpu_features(feature);
    CompiledKernels result;
    if (!code.empty())
      result.files["kernels.so"] = {code.begin(), code.end()};
    return result;
  }

private:
  /// The runtime's attention skips keys hidden by a causal mask and does not
  /// store scores. Without a mask it computes more, because its gradient
  /// recomputes the scores, which pays off once they exceed the caches.
  Ways attention(const ir::AttentionDims &dims, Type element) const {
    // The library's products run at the CPU's speed for their type, those of
    // attention at the speed of f32, or of bf16 if the CPU multiplies bf16.
    const bool isSlower = element && !element.isF32() &&
                          !(element.isBF16() && mlir::succeeded(target) &&
                            (target->hasAmx || target->has("avx512bf16")));
    const int64_t manyKeys = isSlower ? 512 : 192;
    constexpr int64_t kFewQueries = 64;
    Way own{By::Library}, parts{By::Decomposed};
    if (element && element.isF64())
      own.whyNot = "it computes in f64, and attention for CPUs computes in "
                   "f32, bf16 and f16 only";
    Way generated{By::Generated, "attention is not generated for CPUs"};
    const bool isPreferred =
        dims.queries >= kFewQueries && (dims.causal || dims.keys >= manyKeys);
    return isPreferred ? Ways{own, parts, generated}
                       : Ways{parts, own, generated};
  }
  static Ways norm(ir::PlaceableInterface op) {
    if (isa<ir::BatchNormOp, ir::BatchNormBackwardOp>(op))
      return {{By::Library}, {By::Decomposed}};
    return {{By::Decomposed},
            {By::Library, "the runtime for CPUs has batch norm only"}};
  }

  std::string why; // the reason if there is no such CPU
  llvm::FailureOr<CpuTarget> target;
  std::string convError;
};

} // namespace

std::shared_ptr<const Target> makeCpuTarget(const TargetOptions &options) {
  return std::make_shared<Cpu>(options);
}

void addCpuOptions(OptionTable &table, TargetOptions &o) {
  table
      .text("model.cpu", o.cpu, "NAME",
            "CPU that kernels are compiled for; native: this machine's")
      .only("model.target", {"cpu"});
  table
      .choice("model.conv-error", o.convError, {"fast", "direct"},
              "rounding of 3x3 convolutions by Winograd's products on a CPU; "
              "fast: at most twice that of direct sums, five times in the "
              "filters' gradient; direct: less than theirs, twice in the "
              "gradient")
      .only("model.target", {"cpu"});
}

} // namespace dlc
