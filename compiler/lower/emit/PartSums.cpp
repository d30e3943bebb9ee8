// SPDX-License-Identifier: Apache-2.0
// A part's sum is of rows of a fixed length from its begin, the last of which
// are empty where a rank has less; then of all rows of all inputs in one order;
// then of the ranks. In f64, where a norm is concerned, so that another order
// changes it by less than its result is rounded by.
#include "compiler/lower/emit/PartSums.h"
#include "compiler/lower/FlatSums.h"
#include "compiler/lower/memory/StateLayout.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
namespace {

/// Rows of an input, and the elements that a row is a multiple of.
constexpr int64_t kRows = 512, kRow = 1024;
/// Rows are so many that what follows them is aligned.
constexpr int64_t kAlignedRows = 4;

/// What a call adds up, and what it makes of the sum.
struct Sum {
  bool isNorm;
  std::optional<double> limit;

  explicit Sum(exec::CallOp call) : isNorm(call.getKind() == "global_norm") {
    if (auto given = call.getArguments().getAs<FloatAttr>("limit"))
      limit = given.getValueAsDouble();
  }
  Type type(OpBuilder &b) const {
    return isNorm ? b.getF64Type() : Type(b.getF32Type());
  }
  Expr term(Expr x) const {
    return isNorm ? ir::squareOf(x, limit) : ir::countsAsOther(x);
  }
  Expr result(Expr sum, Type element) const {
    return isNorm ? ir::sqrt(sum).cast(element) : ir::isNone(sum);
  }
};

int64_t elementsOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getNumElements();
}

/// How many rows an input of n elements has, and of how many elements: at
/// least one more than there are.
std::pair<int64_t, int64_t> rowsOf(int64_t n) {
  const int64_t length = kRow * llvm::divideCeil(n, kRow * kRows);
  return {llvm::alignTo(n / length + 1, kAlignedRows), length};
}

} // namespace

exec::KernelOp PartSums::launch(exec::CallOp call, StringRef name, Value input,
                                Value output, Body body) {
  const Location loc = call.getLoc();
  auto type = cast<MemRefType>(input.getType());
  std::string key;
  llvm::raw_string_ostream(key)
      << name << type << output.getType() << call.getArguments();
  exec::KernelOp &kernel = kernels[key];
  if (!kernel) {
    auto module = cast<ModuleOp>(symbols.getOp());
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    kernel = exec::KernelOp::create(b, loc, name);
    symbols.insert(kernel);
    Block *block = b.createBlock(&kernel.getBody());
    Value x = block->addArgument(
        RankedTensorType::get(type.getShape(), type.getElementType()), loc);
    ir::YieldOp::create(b, loc, body(Expr(b, loc, x)));
  }
  OpBuilder b(call);
  exec::LaunchOp::create(b, loc, kernel.getSymName(), input, output);
  return kernel;
}

void PartSums::replace(exec::CallOp call, int64_t bucket,
                       llvm::function_ref<Value(MemRefType)> scratch) {
  OpBuilder b(call);
  const Location loc = call.getLoc();
  const Sum sum(call);
  const Type type = sum.type(b);
  int64_t all = 0;
  for (Value v : call.getInputs())
    all += rowsOf(elementsOf(v)).first;
  Value rows = scratch(MemRefType::get({all}, type)),
        total = scratch(MemRefType::get({1}, type));

  auto buffer = rows.getDefiningOp<exec::BufferOp>();
  int64_t begin = buffer.getOffset();
  for (Value v : call.getInputs()) {
    const int64_t n = elementsOf(v);
    const auto [count, length] = rowsOf(n);
    auto sumRows = [&, count = count, length = length](Expr x) -> Value {
      const int64_t none[] = {0}, missing[] = {count * length - n},
                    axes[] = {1};
      Expr flat = x.reshape({n});
      Expr padded =
          flat.make<ir::PadOp>(flat.v, ArrayRef(none), ArrayRef(missing),
                               ArrayRef(none), APFloat(0.0));
      return sum.term(padded.reshape({count, length})).sum(axes);
    };
    OpBuilder before(buffer);
    Value own = exec::BufferOp::create(
        before, loc, MemRefType::get({count}, type), buffer.getRegion(), begin);
    launch(call, sum.isNorm ? "squares_of_part" : "others_of_part", v, own,
           sumRows)
        .setParted(true);
    begin += byteSize(cast<MemRefType>(own.getType()));
  }
  launch(call, "sum_of_parts", rows, total, [](Expr x) -> Value {
    const int64_t axes[] = {0};
    return x.sum(axes, /*keepdims=*/true);
  });
  exec::AllReduceOp::create(b, loc, total, bucket, "sum");
  exec::WaitOp::create(b, loc, total, bucket);
  Value y = call.getOutputs().front();
  launch(call, sum.isNorm ? "norm_of_parts" : "none_in_parts", total, y,
         [&](Expr x) -> Value {
           return sum.result(x.reshape({}), ir::elementType(y));
         });
  call.erase();
}

} // namespace dlc
