// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/KernelTable.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dlc {

/// Names a cluster after its last op.
static std::string suffix(Region &cluster) {
  std::string s, product;
  for (Operation &op : cluster.front())
    if (isa<ir::MatmulOp>(op))
      product = s = "_matmul";
    else if (!isa<ir::YieldOp, ir::ConstantOp, ir::ReshapeOp, ir::CastOp>(op))
      s = product + "_" + op.getName().stripDialect().str();
  return s;
}

KernelTable::KernelTable(ModuleOp module)
    : builder(OpBuilder::atBlockEnd(module.getBody())) {}

exec::KernelOp KernelTable::get(ir::FusedOp fused) {
  return get(fused.getBody(), fused.getLoc());
}

exec::KernelOp KernelTable::get(Region &body, Location loc) {
  std::string key;
  llvm::raw_string_ostream os(key);
  for (Operation &op : body.front())
    op.print(os, OpPrintingFlags().useLocalScope().skipRegions());
  for (Type t : body.front().getArgumentTypes())
    os << t;
  exec::KernelOp &kernel = kernels[key];
  if (!kernel) {
    std::string name = "k" + std::to_string(kernels.size() - 1) + suffix(body);
    kernel = exec::KernelOp::create(builder, loc, name);
    IRMapping map;
    body.cloneInto(&kernel.getBody(), map);
  }
  return kernel;
}

} // namespace dlc
