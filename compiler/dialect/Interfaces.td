// SPDX-License-Identifier: Apache-2.0
// The interfaces by which passes query ops; no pass tests an op's name or class to learn a property.
#ifndef DLC_INTERFACES
#define DLC_INTERFACES

include "mlir/IR/OpBase.td"

def CastPolicyInterface : OpInterface<"CastPolicyInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The precisions that autocast may choose for the op (passes/autocast/CastLists.h).}];
  let methods = [
    StaticInterfaceMethod<"The op's default list for fp16 (true) or bf16 (false).",
      "::dlc::ir::CastPolicy", "castPolicy", (ins "bool":$fp16)>,
    InterfaceMethod<"Operands that keep f32 whatever the op's precision (norm scales, statistics).",
      "bool", "pinsOperand", (ins "unsigned":$index), "", "return false;">,
    InterfaceMethod<"Results that stay f32 whatever the op's precision (saved statistics).",
      "bool", "pinsResult", (ins "unsigned":$index), "", "return false;">,
  ];
}

def DifferentiableInterface : OpInterface<"DifferentiableInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{Reverse-mode rule of the op; attached by passes/gradients.}];
  let methods = [
    InterfaceMethod<[{Appends one gradient per operand to `dx` (null: none). `dy` has one entry per result,
      null where no gradient reaches that result; at least one is set.}],
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
    InterfaceMethod<"Emits the scalar computation; returns one value per result.",
      "::llvm::SmallVector<::mlir::Value>", "buildBody",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$scalars)>,
    InterfaceMethod<"Whether an element costs far more than an addition.", "bool", "isCostly", (ins), "", "return false;">,
  ];
}

def ReductionInterface : OpInterface<"ReductionInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The op reduces its operand over some of its dimensions, with one result.}];
  let methods = [
    StaticInterfaceMethod<"How elements combine.", "::dlc::ir::Combine", "combine">,
    InterfaceMethod<"The dimensions of the operand that are reduced, sorted.", "::llvm::ArrayRef<int64_t>", "reducedAxes",
      (ins), "return $_op.getAxes();">,
    InterfaceMethod<"Whether reduced dimensions stay, with size 1.", "bool", "keepsAxes", (ins),
      "return $_op.getKeepdims();">,
    InterfaceMethod<"Reduces these dimensions instead; the caller adapts the operand and the result's type.", "void",
      "setReducedAxes", (ins "::llvm::ArrayRef<int64_t>":$axes), "$_op.setAxes(axes);">,
    InterfaceMethod<"The same reduction of `x` over `axes`, which stay with size 1.", "::mlir::Value", "reduceToo",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$axes),
      "return ConcreteOp::create(builder, $_op.getLoc(), x, axes, true)->getResult(0);">,
  ];
}

def GeneratorInterface : OpInterface<"GeneratorInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{An element is a function of attributes and its index: recomputing it is cheaper than storing it.}];
}

def MovementInterface : OpInterface<"MovementInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{Elements of the result are elements of operands at other indices, or a constant value.}];
  let methods = [
    InterfaceMethod<"The number of parts of the result; each is a case in generated code.", "int64_t", "pieces", (ins), "",
      "return 1;">,
    InterfaceMethod<[{Adapts the attributes to operands and a result whose dimension i was dimension order[i]; false, with
      nothing changed, where that is not possible.}], "bool", "permuteDims", (ins "::llvm::ArrayRef<int64_t>":$order)>,
  ];
}

def LookupInterface : OpInterface<"LookupInterface"> {
  let cppNamespace = "::dlc::ir";
  let methods = [
    InterfaceMethod<"The exclusive upper bound of an index operand; 0: unknown.", "int64_t",
      "countOf", (ins "unsigned":$operand)>,
    InterfaceMethod<"Whether the operand may be negative, at least -countOf: it then counts from the end.", "bool",
      "countsFromEnd", (ins "unsigned":$operand), "", "return false;">,
  ];
}

def ImageInterface : OpInterface<"ImageInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{Some operands and results are images of one to three dimensions, all in the op's layout: channels first, "nchw",
    or last, "nhwc".}];
  let methods = [
    StaticInterfaceMethod<"Operands that are images.", "::llvm::SmallVector<unsigned>", "imageOperands">,
    StaticInterfaceMethod<"Results that are images.", "::llvm::SmallVector<unsigned>", "imageResults">,
    InterfaceMethod<"Sets the layout; the caller adapts operands and types.", "void", "setImageLayout",
      (ins "::llvm::StringRef":$layout), "$_op.setLayout(layout);">,
  ];
}

def FlopsInterface : OpInterface<"FlopsInterface"> {
  let cppNamespace = "::dlc::ir";
  let methods = [
    InterfaceMethod<"Floating-point operations of one execution; a multiply-add counts two.",
      "int64_t", "countFlops", (ins)>,
  ];
}

def PlaceableInterface : OpInterface<"PlaceableInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{A target may compute the op in several ways; `by` says which (compiler/target/Placer.h).}];
  let methods = [
    StaticInterfaceMethod<"The op's name in --place.", "::llvm::StringRef", "placedAs">,
    InterfaceMethod<"The way to compute the op; Open until it is chosen.", "::dlc::ir::By", "getBy">,
    InterfaceMethod<"Sets the way to compute the op.", "void", "setBy", (ins "::dlc::ir::By":$by)>,
  ];
}

def DecomposableInterface : OpInterface<"DecomposableInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The op's meaning in elementwise, reduce and shape ops; attached by compiler/lower.}];
  let methods = [
    InterfaceMethod<"Builds the equivalent of each result.",
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def LibraryInterface : OpInterface<"LibraryInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{The op is a device library call of its own mnemonic; operands and attributes go to the plan
    as they are (runtime/plan/README.md).}];
  let methods = [
    InterfaceMethod<"The attribute of each optional operand, and whether the operand is present.",
      "::llvm::SmallVector<std::pair<::llvm::StringRef, bool>>", "optionalOperands", (ins), "", "return {};">,
    InterfaceMethod<"Whether the result may alias the operand.", "bool", "mayOverwrite",
      (ins "unsigned":$result, "unsigned":$operand), "", "return false;">,
    InterfaceMethod<"Whether operands are plain ranges of elements, so that adjacent ones may be passed as one.", "bool",
      "joinsOperands", (ins), "", "return false;">,
  ];
}

#endif
