// SPDX-License-Identifier: Apache-2.0
// Merges the two stages of sums of many elements (dlc-split-reductions): in the
// first, blocks compute partial sums; a second kernel adds these and computes
// results from the sums. Here the last block to store partial sums of some
// columns runs the second kernel's code for them, in a fixed order of its own:
// this saves a launch, and blocks need not wait for the slowest.
#include "compiler/kernel/KernelGraph.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/emit/Commands.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_JOINSTAGES
#include "compiler/lower/Passes.h.inc"

namespace {

/// For each input of the second launch: an output of the first, or -1.
using Sources = SmallVector<int64_t>;

class Joiner {
public:
  Joiner(ModuleOp module, const Target &target) : kernels(module, target) {}

  void run(exec::ProgramOp program) {
    exec::LaunchOp before;
    for (Operation &op :
         llvm::make_early_inc_range(program.getBody().front())) {
      if (isa<exec::BufferOp, exec::PortOp>(op) ||
          (before && isCopyBeside(&op, before)))
        continue;
      auto launch = dyn_cast<exec::LaunchOp>(op);
      exec::LaunchOp joined =
          before && launch ? join(before, launch) : exec::LaunchOp();
      before = joined ? joined : launch;
    }
  }

private:
  exec::LaunchOp join(exec::LaunchOp first, exec::LaunchOp last) {
    Sources sources;
    for (Value v : last.getInputs()) {
      auto found = llvm::find(first.getOutputs(), v);
      const bool isOutput = found != first.getOutputs().end();
      if (!isOutput && overlap(v, first.getOutputs()))
        return {};
      sources.push_back(
          isOutput ? std::distance(first.getOutputs().begin(), found) : -1);
    }
    // Other blocks of the first launch are still running.
    if (overlap(last.getOutputs(), first->getOperands()))
      return {};
    if (llvm::all_of(sources, [](int64_t s) { return s < 0; }) ||
        !first->getDiscardableAttrDictionary().empty() ||
        !last->getDiscardableAttrDictionary().empty())
      return {};
    exec::KernelOp kernel = kernelOf(first, last, sources);
    if (!kernel)
      return {};
    SmallVector<Value> ins(first.getInputs()), outs(first.getOutputs());
    for (auto [v, source] : llvm::zip(last.getInputs(), sources))
      if (source < 0)
        ins.push_back(v);
    llvm::append_range(outs, last.getOutputs());
    OpBuilder b(last);
    auto joined = exec::LaunchOp::create(
        b, b.getFusedLoc({first.getLoc(), last.getLoc()}), kernel.getSymName(),
        ins, outs);
    first.erase();
    last.erase();
    return joined;
  }
  /// Null if the target cannot run it.
  exec::KernelOp kernelOf(exec::LaunchOp first, exec::LaunchOp last,
                          ArrayRef<int64_t> sources) {
    std::string key = (first.getKernel() + " " + last.getKernel()).str();
    for (int64_t source : sources)
      key += " " + std::to_string(source);
    return kernels.get(key, [&]() -> exec::KernelOp {
      auto one = kernels.lookup(first.getKernel()),
           two = kernels.lookup(last.getKernel());
      if (partsOf(one.getBody()) > 1 || partsOf(two.getBody()) > 1 ||
          one.getParted() || two.getParted())
        return {};
      return make(one, two, sources);
    });
  }
  static exec::KernelOp make(exec::KernelOp one, exec::KernelOp two,
                             ArrayRef<int64_t> sources) {
    OpBuilder b(one);
    auto kernel = exec::KernelOp::create(b, one.getLoc(),
                                         (one.getSymName() + "_last").str());
    IRMapping map;
    one.getBody().cloneInto(&kernel.getBody(), map);
    Block &body = kernel.getBody().front(), &code = two.getBody().front();
    Operation *yield = body.getTerminator();
    SmallVector<Value> outputs(yield->getOperands());
    b.setInsertionPoint(yield);
    exec::LastOp::create(b, two.getLoc());
    for (auto [argument, source] : llvm::zip(code.getArguments(), sources))
      map.map(argument, source < 0 ? body.addArgument(argument.getType(),
                                                      argument.getLoc())
                                   : outputs[source]);
    for (Operation &op : code.without_terminator())
      b.clone(op, map);
    for (Value v : code.getTerminator()->getOperands())
      outputs.push_back(map.lookup(v));
    yield->setOperands(outputs);
    return kernel;
  }

  CutKernels kernels;
};

struct JoinStages : impl::JoinStagesBase<JoinStages> {
  void runOnOperation() final {
    Joiner joiner(getOperation(), *options.target);
    for (auto program : getOperation().getOps<exec::ProgramOp>())
      joiner.run(program);
  }
};

} // namespace

} // namespace dlc
