// SPDX-License-Identifier: Apache-2.0
// The interfaces by which passes query ops; no pass tests an op's name or class to learn a property.
#ifndef DLC_INTERFACES
#define DLC_INTERFACES

include "mlir/IR/OpBase.td"

def CastPolicyInterface : OpInterface<"CastPolicyInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The precisions that autocast may choose for the op (passes/autocast/CastLists.h).}];
  let methods = [
    StaticInterfaceMethod<"The list that contains the op by default, for fp16 (true) or bf16 (false).",
      "::dlc::ir::CastPolicy", "castPolicy", (ins "bool":$fp16)>,
    InterfaceMethod<"Whether the operand stays f32 in every precision (scales of norms, statistics).",
      "bool", "pinsOperand", (ins "unsigned":$index), "", "return false;">,
    InterfaceMethod<"Whether the result stays f32 in every precision (saved statistics).",
      "bool", "pinsResult", (ins "unsigned":$index), "", "return false;">,
  ];
}

def DifferentiableInterface : OpInterface<"DifferentiableInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The op's rule of reverse-mode differentiation; attached by passes/gradients.}];
  let methods = [
    InterfaceMethod<[{Appends one gradient per operand to `dx`, null if there is none. `dy` has one gradient per result,
      null where the loss does not depend on the result; at least one is not null.}],
      "::llvm::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$dy,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$dx)>,
  ];
}

def ElementwiseInterface : OpInterface<"ElementwiseInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The op computes every element of its results from the elements of its operands at the
    same (broadcast) index. Operands and results of the body are scalars; 16-bit floats are passed as f32.}];
  let methods = [
    InterfaceMethod<"Builds the computation on scalars; returns one value per result.",
      "::llvm::SmallVector<::mlir::Value>", "buildBody",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$scalars)>,
    InterfaceMethod<"Whether an element costs much more than an addition (exp, tanh).", "bool", "isCostly", (ins), "", "return false;">,
  ];
}

def ReductionInterface : OpInterface<"ReductionInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The op reduces its only operand over some dimensions to its only result.}];
  let methods = [
    StaticInterfaceMethod<"The reduction operator.", "::dlc::ir::Combine", "combine">,
    InterfaceMethod<"The reduced dimensions of the operand, sorted.", "::llvm::ArrayRef<int64_t>", "reducedAxes",
      (ins), "return $_op.getAxes();">,
    InterfaceMethod<"Whether reduced dimensions remain, with size 1.", "bool", "keepsAxes", (ins),
      "return $_op.getKeepdims();">,
    InterfaceMethod<"Sets the reduced dimensions; the caller adapts the operand and the result's type.", "void",
      "setReducedAxes", (ins "::llvm::ArrayRef<int64_t>":$axes), "$_op.setAxes(axes);">,
    InterfaceMethod<"Builds the same reduction of `x` over `axes`, which remain with size 1.", "::mlir::Value", "reduceToo",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$axes),
      "return ConcreteOp::create(builder, $_op.getLoc(), x, axes, true)->getResult(0);">,
  ];
}

def GeneratorInterface : OpInterface<"GeneratorInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The op computes an element from attributes and the element's index: recomputation is cheaper than storage.}];
}

def MovementInterface : OpInterface<"MovementInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{Each element of the result is an element of an operand at another index, or a constant.}];
  let methods = [
    InterfaceMethod<"The number of parts of the result with different sources; each is a case in generated code.", "int64_t", "pieces", (ins), "",
      "return 1;">,
    InterfaceMethod<[{Adapts the attributes to operands and a result with permuted dimensions, of which dimension i was dimension
      order[i]. Returns false, without a change, if that is not possible.}], "bool", "permuteDims", (ins "::llvm::ArrayRef<int64_t>":$order)>,
  ];
}

def LookupInterface : OpInterface<"LookupInterface"> {
  let cppNamespace = "::dlc::ir";
  let methods = [
    InterfaceMethod<"The exclusive upper bound of the integers of an index operand; 0 if unknown.", "int64_t",
      "countOf", (ins "unsigned":$operand)>,
    InterfaceMethod<"Whether integers from -countOf to -1 are valid and count from the end.", "bool",
      "countsFromEnd", (ins "unsigned":$operand), "", "return false;">,
  ];
}

def ImageInterface : OpInterface<"ImageInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{Some operands and results are images with one to three spatial dimensions, all in the op's layout: "nchw" (channels
    first) or "nhwc" (channels last).}];
  let methods = [
    StaticInterfaceMethod<"Indices of the operands that are images.", "::llvm::SmallVector<unsigned>", "imageOperands">,
    StaticInterfaceMethod<"Indices of the results that are images.", "::llvm::SmallVector<unsigned>", "imageResults">,
    InterfaceMethod<"Sets the layout; the caller adapts operands and types of results.", "void", "setImageLayout",
      (ins "::llvm::StringRef":$layout), "$_op.setLayout(layout);">,
  ];
}

def FlopsInterface : OpInterface<"FlopsInterface"> {
  let cppNamespace = "::dlc::ir";
  let methods = [
    InterfaceMethod<"Floating-point operations (FLOPs) of one execution; a multiply-add counts as two.",
      "int64_t", "countFlops", (ins)>,
  ];
}

def PlaceableInterface : OpInterface<"PlaceableInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{A target may have several implementations of the op; `by` is the chosen one (compiler/placement/Placer.h).}];
  let methods = [
    StaticInterfaceMethod<"The op's name in the option --place.", "::llvm::StringRef", "placedAs">,
    InterfaceMethod<"The chosen implementation; Open before dlc-place.", "::dlc::ir::By", "getBy">,
    InterfaceMethod<"Sets the implementation.", "void", "setBy", (ins "::dlc::ir::By":$by)>,
  ];
}

def DecomposableInterface : OpInterface<"DecomposableInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The op's decomposition into elementwise, reduce and shape ops; attached by compiler/lower.}];
  let methods = [
    InterfaceMethod<"Builds the decomposition; returns one value per result.",
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def LibraryInterface : OpInterface<"LibraryInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The op is a call of the device's library with the op's mnemonic as kind; the plan stores operands and attributes
    unchanged (runtime/plan/README.md).}];
  let methods = [
    InterfaceMethod<"For each optional operand the plan's attribute, such as has_bias, and whether the operand is present.",
      "::llvm::SmallVector<std::pair<::llvm::StringRef, bool>>", "optionalOperands", (ins), "", "return {};">,
    InterfaceMethod<"Whether the result may be stored in the memory of the operand.", "bool", "mayOverwrite",
      (ins "unsigned":$result, "unsigned":$operand), "", "return false;">,
    InterfaceMethod<"Whether only the elements, not the shapes of operands matter, so that adjacent operands may be passed as one.", "bool",
      "joinsOperands", (ins), "", "return false;">,
  ];
}

#endif
