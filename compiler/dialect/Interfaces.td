// What a pass may ask an op. No pass switches on op names.
#ifndef DLC_INTERFACES
#define DLC_INTERFACES

include "mlir/IR/OpBase.td"

def CastPolicyInterface : OpInterface<"CastPolicyInterface"> {
  let cppNamespace = "::dlc::ir";
  let description = [{Which precision autocast may run the op in (the table of passes/README.md).}];
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
    same (broadcast) index. Operands and results of the body are scalars; half floats arrive as f32.}];
  let methods = [
    InterfaceMethod<"Emits the scalar computation; returns one value per result.",
      "::llvm::SmallVector<::mlir::Value>", "buildBody",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$scalars)>,
  ];
}

def FlopsInterface : OpInterface<"FlopsInterface"> {
  let cppNamespace = "::dlc::ir";
  let methods = [
    InterfaceMethod<"Floating-point operations of one execution; a multiply-add counts two.",
      "int64_t", "countFlops", (ins)>,
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
}

#endif
