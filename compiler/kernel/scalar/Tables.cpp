// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/scalar/Tables.h"
#include "compiler/dialect/Dlc.h"

using namespace mlir;

namespace dlc {

static LLVM::GlobalOp makeTable(ModuleOp module, ScalarEmitter &e,
                                DenseElementsAttr dense, StringRef name,
                                unsigned addressSpace) {
  OpBuilder &b = e.b;
  unsigned width = storageType(dense.getElementType()).getIntOrFloatBitWidth();
  SmallVector<APInt> bits;
  if (isa<FloatType>(dense.getElementType()))
    for (APFloat v : dense.getValues<APFloat>())
      bits.push_back(v.bitcastToAPInt());
  else
    for (APInt v : dense.getValues<APInt>())
      bits.push_back(v.zext(width));
  Type element = b.getIntegerType(width);
  auto value = DenseElementsAttr::get(
      RankedTensorType::get({(int64_t)bits.size()}, element), bits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  return LLVM::GlobalOp::create(
      b, e.loc, LLVM::LLVMArrayType::get(element, bits.size()),
      /*isConstant=*/true, LLVM::Linkage::Internal, name, value,
      /*alignment=*/64, addressSpace);
}

void bindTables(exec::KernelOp kernel, ModuleOp module, ScalarEmitter &e,
                unsigned addressSpace) {
  int64_t number = 0;
  for (auto constant : kernel.getBody().getOps<ir::ConstantOp>()) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!dense || dense.isSplat())
      continue;
    std::string name = (kernel.getSymName() + ".table" + Twine(number++)).str();
    auto global = makeTable(module, e, dense, name, addressSpace);
    e.setPointer(constant.getY(),
                 LLVM::AddressOfOp::create(e.b, e.loc, global));
  }
}

} // namespace dlc
