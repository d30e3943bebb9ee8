#include "compiler/kernel/KernelTable.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dlc {

/// The last op says best what a cluster is for.
static std::string suffix(ir::FusedOp fused) {
  std::string s, product;
  for (Operation &op : fused.getBody().front())
    if (isa<ir::MatmulOp>(op))
      product = s = "_matmul";
    else if (!isa<ir::YieldOp, ir::ConstantOp, ir::ReshapeOp, ir::CastOp>(op))
      s = product + "_" + op.getName().stripDialect().str();
  return s;
}

KernelTable::KernelTable(ModuleOp module)
    : builder(OpBuilder::atBlockEnd(module.getBody())) {}

exec::KernelOp KernelTable::get(ir::FusedOp fused) {
  std::string key;
  llvm::raw_string_ostream os(key);
  for (Operation &op : fused.getBody().front())
    op.print(os, OpPrintingFlags().useLocalScope().skipRegions());
  for (Type t : fused.getBody().front().getArgumentTypes())
    os << t;
  exec::KernelOp &kernel = kernels[key];
  if (!kernel) {
    std::string name = "k" + std::to_string(kernels.size() - 1) + suffix(fused);
    kernel = exec::KernelOp::create(builder, fused.getLoc(), name);
    IRMapping map;
    fused.getBody().cloneInto(&kernel.getBody(), map);
  }
  return kernel;
}

} // namespace dlc
