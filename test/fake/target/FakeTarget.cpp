#include "test/fake/target/FakeTarget.h"

namespace dlc::test {
namespace {

/// Unlike both others: images stay channels first, and what is no product or
/// convolution is generated.
class Fake final : public Target {
public:
  llvm::StringRef name() const override { return "fake"; }
  LoweringTraits lowering() const override {
    return {.channelsLast = false, .decomposesCalls = true, .fewOutputs = 4};
  }
  bool prefersAttention() const override { return false; }
  std::optional<std::string> whyNoAttention(By, mlir::RankedTensorType,
                                            const ir::AttentionDims &,
                                            bool) const override {
    return "it is not made for that";
  }
  void fitCall(ir::AttentionOp) const override {}
  std::optional<std::string> whyNoNormCall(mlir::Operation *) const override {
    return "it has no calls for norms";
  }
  double streaming(double) const override { return 0; }
  double libraryProduct(const ProductShape &, double) const override {
    return 0;
  }
  double generatedProduct(const ProductShape &, double, OperandCost,
                          OperandCost) const override {
    return 1;
  }
  Result<CompiledKernels> generate(mlir::ModuleOp module,
                                   plan::Plan &plan) const override {
    return makeTarget({.name = "cpu"})->generate(module, plan);
  }
};

} // namespace

std::shared_ptr<const Target> makeFakeTarget(const TargetOptions &) {
  return std::make_shared<Fake>();
}

} // namespace dlc::test
