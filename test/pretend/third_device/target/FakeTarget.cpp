// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/third_device/target/FakeTarget.h"

namespace dlc::test {
namespace {

/// Unlike both others: images stay channels first, and what is no product or
/// convolution is generated.
class Fake final : public Target {
public:
  llvm::StringRef name() const override { return "fake"; }
  LoweringTraits lowering() const override {
    return {.channelsLast = false, .fewOutputs = 4};
  }
  bool chooses(llvm::StringRef) const override { return false; }
  Ways waysOf(ir::PlaceableInterface op) const override {
    if (llvm::isa<ir::MatmulOp, ir::ConvOp, ir::ConvBackwardDataOp,
                  ir::ConvBackwardFilterOp>(*op))
      return {{By::Library}};
    return llvm::isa<ir::GatherOp>(*op) ? Ways{{By::Generated}}
                                        : Ways{{By::Decomposed}};
  }
  Ways waysOfAttention(const ir::AttentionDims &, mlir::Type) const override {
    return {{By::Decomposed}};
  }
  Ways waysOfEpilogue(ir::MatmulOp, mlir::Operation *,
                      mlir::Value) const override {
    return {{By::Decomposed}};
  }
  void fitCall(ir::AttentionOp) const override {}
  double streaming(double) const override { return 0; }
  double libraryProduct(const ProductShape &, double, bool) const override {
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
