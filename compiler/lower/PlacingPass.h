// What the passes are that pick who computes an op.
#pragma once

#include "compiler/placement/Placer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace dlc {

/// A pass of a module that gives a Placer to `runOn(function, placer)` of
/// Derived. In dlc-opt the users' wishes are its options.
template <class Derived>
class PlacingPass
    : public mlir::PassWrapper<Derived, mlir::OperationPass<mlir::ModuleOp>> {
  using Base = mlir::PassWrapper<Derived, mlir::OperationPass<mlir::ModuleOp>>;
  using Text = mlir::Pass::Option<std::string>;

public:
  void runOnOperation() final {
    Wishes wishes;
    wishes.attention = attention;
    wishes.matmul = matmul;
    wishes.epilogues = epilogues;
    wishes.norm = norm;
    wishes.place.assign(place.begin(), place.end());
    wishes.explain = explain;
    Placer placer(*target, wishes);
    for (auto f : this->getOperation().template getOps<mlir::func::FuncOp>())
      if (failed(static_cast<Derived *>(this)->runOn(f, placer)))
        return this->signalPassFailure();
    placer.leaveNotes(this->getOperation());
  }

protected:
  PlacingPass(std::shared_ptr<const Target> target, const Wishes &wishes)
      : target(std::move(target)) {
    attention = wishes.attention;
    matmul = wishes.matmul;
    epilogues = wishes.epilogues;
    norm = wishes.norm;
    place = wishes.place;
    explain = wishes.explain;
  }
  PlacingPass(const PlacingPass &o) : Base(o), target(o.target) {}

  std::shared_ptr<const Target> target;

private:
  Text attention{*this, "attention", llvm::cl::init("auto")};
  Text matmul{*this, "matmul", llvm::cl::init("auto")};
  Text epilogues{*this, "matmul-epilogues", llvm::cl::init("auto")};
  Text norm{*this, "norm", llvm::cl::init("auto")};
  mlir::Pass::ListOption<std::string> place{*this, "place"};
  mlir::Pass::Option<bool> explain{*this, "explain", llvm::cl::init(false)};
};

} // namespace dlc
