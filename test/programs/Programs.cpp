// SPDX-License-Identifier: Apache-2.0
#include "test/programs/Programs.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/Lower.h"
#include "compiler/reference/Interpreter.h"
#include "compiler/target/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;

namespace dlc::test {
namespace {

std::string textOf(Type type) {
  std::string s;
  llvm::raw_string_ostream(s) << type;
  return s;
}

Array arrayFor(Value v) {
  auto type = ir::tensorType(v);
  return {textOf(type.getElementType()), type.getShape().vec()};
}

bool lower(ModuleOp module) {
  PassManager pm(module.getContext());
  const auto target = makeTarget({.name = "cuda"});
  const LoweringTraits gpu = target->lowering();
  pm.addPass(with(LoweringOptions{target, {}}, createPlace()));
  pm.addNestedPass<func::FuncOp>(createDecompose());
  pm.addNestedPass<func::FuncOp>(createSplitReductions({gpu.fewOutputs}));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createFuse(
      {.repeat = gpu.repeatsCheapOps, .windows = gpu.computesInWindows}));
  if (gpu.packsMasks)
    pm.addNestedPass<func::FuncOp>(createPackMasks({.least = 1}));
  return succeeded(pm.run(module));
}

/// The clusters of f as kernels k0, k1 ... of a module.
std::string kernelsOf(func::FuncOp f) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(f.getLoc()));
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  int count = 0;
  f.walk([&](ir::FusedOp fused) {
    auto kernel =
        exec::KernelOp::create(b, f.getLoc(), "k" + std::to_string(count++));
    IRMapping map;
    fused.getBody().cloneInto(&kernel.getBody(), map);
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}

std::vector<Array> run(func::FuncOp f, const std::vector<Array> &inputs) {
  Kernels kernels(kernelsOf(f));
  llvm::DenseMap<Value, std::shared_ptr<Array>> arrays;
  for (auto [v, array] : llvm::zip(f.getArguments(), inputs))
    arrays[v] = std::make_shared<Array>(array);
  int count = 0;
  std::vector<Array> results;
  for (Operation &op : f.front()) {
    if (auto fused = dyn_cast<ir::FusedOp>(op)) {
      std::vector<const Array *> in;
      std::vector<Array *> out;
      for (Value v : fused.getInputs())
        in.push_back(arrays[v].get());
      for (Value v : fused.getResults())
        out.push_back((arrays[v] = std::make_shared<Array>(arrayFor(v))).get());
      kernels.run("k" + std::to_string(count++), in, out);
    } else if (auto reshape = dyn_cast<ir::ReshapeOp>(op)) {
      auto view = std::make_shared<Array>(*arrays[reshape.getX()]);
      view->shape = ir::tensorType(reshape.getY()).getShape().vec();
      arrays[reshape.getY()] = view;
    } else if (isa<func::ReturnOp>(op)) {
      for (Value v : op.getOperands())
        results.push_back(*arrays[v]);
    } else {
      ADD_FAILURE() << "no kernel has " << op.getName().getStringRef().str();
      return {};
    }
  }
  return results;
}

void compare(size_t number, const Array &got, const reference::Tensor &want,
             double relative, double ofLargest) {
  double largest = 0;
  for (double w : want.data)
    largest = std::max(largest, std::fabs(w));
  ASSERT_EQ(got.size(), (int64_t)want.data.size());
  for (int64_t i = 0; i < got.size(); ++i) {
    double w = want.data[i], g = got.get(i);
    if (w == g ||
        std::fabs(w - g) <= relative * std::fabs(w) + ofLargest * largest)
      continue;
    ADD_FAILURE() << "result " << number << " element " << i << " is " << g
                  << ", expected " << w;
    return;
  }
}

} // namespace

std::vector<Array> expectSameProgram(const std::string &text,
                                     const std::vector<Array> &inputs,
                                     double relative, double ofLargest) {
  DialectRegistry registry;
  registerDecompositions(registry);
  MLIRContext context(registry);
  context.loadDialect<ir::DlcDialect, exec::ExecDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "cannot parse\n" << text;
    return {};
  }
  auto f = *module->getOps<func::FuncOp>().begin();
  std::vector<reference::Tensor> arguments;
  for (const Array &a : inputs) {
    arguments.emplace_back(ir::Ints(a.shape));
    for (int64_t i = 0; i < a.size(); ++i)
      arguments.back().data[i] = a.get(i);
  }
  auto outcome = reference::interpret(f, arguments, {});
  if (failed(outcome) || !lower(*module)) {
    ADD_FAILURE() << "cannot interpret or lower\n" << text;
    return {};
  }
  std::vector<Array> results = run(f, inputs);
  EXPECT_EQ(results.size(), outcome->results.size());
  for (size_t i = 0; i < results.size(); ++i)
    compare(i, results[i], outcome->results[i], relative, ofLargest);
  return results;
}

} // namespace dlc::test
