// SPDX-License-Identifier: Apache-2.0
// Inputs of pixels are uint8 in memory, and each program converts them itself,
// in kernels of the ops that read them.
#include "compiler/dialect/Expr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_UINT8INPUTS
#include "passes/Passes.h.inc"

namespace {

/// A constant that broadcasts over `x`: of one number, or one for each channel,
/// which is dimension 1 or the last one; null if neither has as many.
Value perChannel(Expr x, ArrayRef<double> numbers) {
  const int64_t rank = x.rank(), count = numbers.size();
  SmallVector<int64_t> shape;
  if (count > 1) {
    if (rank > 2 && x.shape()[1] == count)
      shape.assign(rank - 1, 1);
    else if (rank > 1 && x.shape().back() == count)
      shape.assign(1, 1);
    else
      return {};
    shape.front() = count;
  }
  SmallVector<float> values(numbers.begin(), numbers.end());
  auto type = RankedTensorType::get(shape, x.element());
  return x.make<ir::ConstantOp>(
      type, DenseElementsAttr::get(type, ArrayRef<float>(values)));
}

struct Uint8Inputs : impl::Uint8InputsBase<Uint8Inputs> {
  Uint8Inputs() { reads<&StepOptions::inputs>(); }

  void runOnOperation() final {
    for (const std::string &text : options.inputs.pixels) {
      const PixelInput input = *PixelInput::parse(text);
      bool isFound = false;
      for (auto f : getOperation().getOps<func::FuncOp>())
        for (BlockArgument argument : f.getArguments())
          if (nameOf(f, argument) == input.name) {
            isFound = true;
            if (failed(convert(f, argument, input)))
              return signalPassFailure();
          }
      if (!isFound) {
        refuse(getOperation()) << "no input '" << input.name
                               << "' in the model, which has " << inputs();
        return signalPassFailure();
      }
    }
  }

  static InFlightDiagnostic refuse(Operation *op) {
    return op->emitError() << "--uint8-input: ";
  }

  static StringRef nameOf(func::FuncOp f, BlockArgument argument) {
    auto name =
        f.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dlc.name");
    return name ? name.getValue() : "";
  }

  std::string inputs() {
    std::string text;
    for (auto f : getOperation().getOps<func::FuncOp>())
      for (BlockArgument argument : f.getArguments())
        text += (text.empty() ? "'" : ", '") + nameOf(f, argument).str() + "'";
    return text;
  }

  LogicalResult convert(func::FuncOp f, BlockArgument argument,
                        const PixelInput &input) {
    RankedTensorType type = tensorType(argument);
    if (!type.getElementType().isF32())
      return refuse(f) << "input '" << input.name << "' is " << type
                       << ", expected elements of f32";
    OpBuilder b = OpBuilder::atBlockBegin(&f.front());
    argument.setType(type.clone(b.getIntegerType(8)));
    Expr bytes(b, f.getLoc(), argument), x = bytes.cast(b.getF32Type());
    Operation *first = x.v.getDefiningOp();
    // 255 is exact, its reciprocal is not.
    x = input.scale ? x * *input.scale : x / 255;
    if (!input.mean.empty()) {
      Value mean = perChannel(x, input.mean), std = perChannel(x, input.std);
      if (!mean || !std)
        return refuse(f) << "input '" << input.name << "' " << type << " has "
                         << input.mean.size() << " means and "
                         << input.std.size()
                         << " deviations, expected one, or one for each "
                            "channel";
      x = x.make<ir::SubOp>(x.v, mean);
      x = x.make<ir::DivOp>(x.v, std);
    }
    argument.replaceAllUsesExcept(x.v, first);
    f.setType(FunctionType::get(f.getContext(), f.front().getArgumentTypes(),
                                f.getResultTypes()));
    return success();
  }
};

} // namespace
} // namespace dlc
