// SPDX-License-Identifier: Apache-2.0
// Merges consecutive small launches into one, because a launch takes longer
// than, for example, copying filters into another layout. Each keeps its own
// blocks, and none accesses what another one writes.
#include "compiler/kernel/KernelGraph.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/emit/Commands.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_JOINSMALL
#include "compiler/lower/Passes.h.inc"

namespace {

/// Bytes of a small launch, and largest number that are merged, and of their
/// buffers: a GPU's kernel has 4 KiB of parameters.
constexpr int64_t kSmallBytes = 16 << 20;
constexpr size_t kMostLaunches = 32, kMostBuffers = 512;

class SmallJoiner {
public:
  SmallJoiner(ModuleOp module, const Target &target)
      : kernels(module, target) {}

  void run(exec::ProgramOp program) {
    SmallVector<exec::LaunchOp> row;
    size_t buffers = 0;
    for (Operation &op :
         llvm::make_early_inc_range(program.getBody().front())) {
      if (isa<exec::BufferOp, exec::PortOp>(op) || isCopyBeside(&op, row))
        continue;
      auto launch = dyn_cast<exec::LaunchOp>(op);
      if (launch && !isSmall(launch))
        launch = nullptr;
      if (launch)
        buffers += launch->getNumOperands();
      if (!launch || row.size() == kMostLaunches || buffers > kMostBuffers ||
          !isApart(launch, row)) {
        join(row);
        row.clear();
        buffers = launch ? launch->getNumOperands() : 0;
      }
      if (launch)
        row.push_back(launch);
    }
    join(row);
  }

private:
  bool isSmall(exec::LaunchOp launch) {
    int64_t bytes = 0;
    for (Value v : launch->getOperands())
      bytes += rangeOf(v).end - rangeOf(v).begin;
    return bytes <= kSmallBytes &&
           launch->getDiscardableAttrDictionary().empty() &&
           isElementwise(launch.getKernel());
  }
  bool isElementwise(StringRef name) {
    auto [it, isNew] = elementwise.try_emplace(name);
    auto kernel = kernels.lookup(name);
    std::string why;
    if (isNew && !kernel.getParted() && partsOf(kernel.getBody()) == 1)
      if (auto graph = KernelGraph::build(kernel.getBody(), why))
        it->second = !graph->reduces;
    return it->second;
  }
  static bool isApart(exec::LaunchOp launch, ArrayRef<exec::LaunchOp> row) {
    return llvm::none_of(row, [&](exec::LaunchOp other) {
      return overlap(launch.getOutputs(), other->getOperands()) ||
             overlap(launch.getInputs(), other.getOutputs());
    });
  }

  void join(ArrayRef<exec::LaunchOp> row) {
    exec::KernelOp kernel = row.size() > 1 ? kernelOf(row) : exec::KernelOp();
    if (!kernel)
      return;
    SmallVector<Value> ins, outs;
    SmallVector<Location> places;
    for (exec::LaunchOp launch : row) {
      llvm::append_range(ins, launch.getInputs());
      llvm::append_range(outs, launch.getOutputs());
      places.push_back(launch.getLoc());
    }
    OpBuilder b(row.back());
    exec::LaunchOp::create(b, b.getFusedLoc(places), kernel.getSymName(), ins,
                           outs);
    for (exec::LaunchOp launch : row)
      launch.erase();
  }
  /// Null if the target cannot run it.
  exec::KernelOp kernelOf(ArrayRef<exec::LaunchOp> row) {
    std::string key;
    for (exec::LaunchOp launch : row)
      key += (launch.getKernel() + " ").str();
    return kernels.get(key, [&] { return make(row); });
  }
  exec::KernelOp make(ArrayRef<exec::LaunchOp> row) {
    exec::LaunchOp first = row.front();
    auto one = kernels.lookup(first.getKernel());
    OpBuilder b(one);
    auto kernel = exec::KernelOp::create(b, one.getLoc(),
                                         (one.getSymName() + "_beside").str());
    Block *body = b.createBlock(&kernel.getBody());
    SmallVector<Value> outputs;
    for (exec::LaunchOp launch : row) {
      Block &code = kernels.lookup(launch.getKernel()).getBody().front();
      if (launch != first)
        exec::BesideOp::create(b, launch.getLoc());
      IRMapping map;
      for (BlockArgument v : code.getArguments())
        map.map(v, body->addArgument(v.getType(), v.getLoc()));
      for (Operation &op : code.without_terminator())
        b.clone(op, map);
      for (Value v : code.getTerminator()->getOperands())
        outputs.push_back(map.lookup(v));
    }
    ir::YieldOp::create(b, one.getLoc(), outputs);
    return kernel;
  }

  CutKernels kernels;
  llvm::StringMap<bool> elementwise;
};

struct JoinSmall : impl::JoinSmallBase<JoinSmall> {
  void runOnOperation() final {
    SmallJoiner joiner(getOperation(), *options.target);
    for (auto program : getOperation().getOps<exec::ProgramOp>())
      joiner.run(program);
    eraseUnused(getOperation());
  }
};

} // namespace

} // namespace dlc
