// SPDX-License-Identifier: Apache-2.0
// Elementwise ops. All of them broadcast like numpy: operands of rank 0 or with dimensions of 1 are
// repeated. Element types must agree (autocast inserts the casts).
#ifndef DLC_ELEMENTWISE
#define DLC_ELEMENTWISE
include "DlcBase.td"

defvar Dlc_ElementwiseLaws = "(C1) element types agree; (C2) shapes broadcast.";

defvar Dlc_Costly = "static bool isCostly() { return true; }\n";

class Dlc_Elementwise<string mnemonic, Dlc_Cast cast, string infer = "inferBroadcast">
    : Dlc_Pure<mnemonic, cast, infer, [DeclareOpInterfaceMethods<ElementwiseInterface>]>;

class Dlc_Unary<string mnemonic, Dlc_Cast cast> : Dlc_Elementwise<mnemonic, cast, "inferSameAsFirst"> {
  let shapes = "y as x";
  let example = "%y = dlc." # mnemonic # " %x : (tensor<2x3xf32>) -> tensor<2x3xf32>";
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
}
class Dlc_CostlyUnary<string mnemonic, Dlc_Cast cast> : Dlc_Unary<mnemonic, cast> { let answers = Dlc_Costly; }
class Dlc_Binary<string mnemonic, Dlc_Cast cast> : Dlc_Elementwise<mnemonic, cast> {
  let shapes = "y as a and b broadcast";
  let description = Dlc_ElementwiseLaws;
  let example = "%y = dlc." # mnemonic # " %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>";
  let arguments = (ins Dlc_Tensor:$a, Dlc_Tensor:$b);
  let results = (outs Dlc_Tensor:$y);
}

def Dlc_NegOp : Dlc_Unary<"neg", CastClear> { let summary = "negation"; }
def Dlc_AbsOp : Dlc_Unary<"abs", CastClear> { let summary = "absolute value"; }
def Dlc_SignOp : Dlc_Unary<"sign", CastClear> { let summary = "-1, 0 or 1"; }
def Dlc_FloorOp : Dlc_Unary<"floor", CastClear> { let summary = "round down"; }
def Dlc_CeilOp : Dlc_Unary<"ceil", CastClear> { let summary = "round up"; }
def Dlc_RoundOp : Dlc_Unary<"round", CastClear> { let summary = "round half to even"; }
def Dlc_ExpOp : Dlc_CostlyUnary<"exp", CastDenyFp16> { let summary = "exponential"; }
def Dlc_LogOp : Dlc_CostlyUnary<"log", CastDeny> { let summary = "natural logarithm"; }
def Dlc_SqrtOp : Dlc_Unary<"sqrt", CastInfer> { let summary = "square root"; }
def Dlc_RsqrtOp : Dlc_Unary<"rsqrt", CastDenyFp16> { let summary = "1 / sqrt(x)"; }
def Dlc_ReciprocalOp : Dlc_Unary<"reciprocal", CastDenyFp16> { let summary = "1 / x"; }
def Dlc_TanhOp : Dlc_CostlyUnary<"tanh", CastInfer> { let summary = "hyperbolic tangent"; }
def Dlc_SigmoidOp : Dlc_CostlyUnary<"sigmoid", CastInfer> { let summary = "1 / (1 + exp(-x))"; }
def Dlc_StopGradientOp : Dlc_Unary<"stop_gradient", CastClear> {
  let summary = "x, with gradient zero (detach); autodiff removes it";
}
def Dlc_ScaleGradientOp : Dlc_Unary<"scale_gradient", CastDeny> {
  let summary = "x, whose gradient is multiplied by `factor`; autodiff removes it";
  let example = [{%y = dlc.scale_gradient %x {factor = 5.0e-1} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, F64Attr:$factor);
}
def Dlc_ReluOp : Dlc_Unary<"relu", CastClear> { let summary = "max(x, 0)"; }
def Dlc_ErfOp : Dlc_CostlyUnary<"erf", CastInfer> { let summary = "error function"; }
def Dlc_SinOp : Dlc_CostlyUnary<"sin", CastInfer> { let summary = "sine"; }
def Dlc_CosOp : Dlc_CostlyUnary<"cos", CastInfer> { let summary = "cosine"; }
def Dlc_AtanOp : Dlc_CostlyUnary<"atan", CastInfer> { let summary = "inverse tangent"; }
def Dlc_SoftplusOp : Dlc_CostlyUnary<"softplus", CastDenyFp16> { let summary = "log(1 + exp(x))"; }
def Dlc_NotOp : Dlc_Unary<"not", CastNever> {
  let summary = "logical not";
  let example = "%y = dlc.not %x : (tensor<2x3xi1>) -> tensor<2x3xi1>";
}
def Dlc_GeluOp : Dlc_CostlyUnary<"gelu", CastInfer> {
  let summary = "Gaussian error linear unit: exact, or by tanh when `tanh` is set";
  let example = [{%y = dlc.gelu %x {tanh} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, UnitAttr:$tanh);
}
// Gradients that stay one op until dlc-decompose, so that a library's product can take them over.
class Dlc_ActivationBackward<string mnemonic> : Dlc_Pure<mnemonic, CastNever, "inferActivationBackward", [Elementwise]> {
  let shapes = "all alike";
  let description = "(C1) the activation's value has dy's type.";
}
def Dlc_ReluBackwardOp : Dlc_ActivationBackward<"relu_backward"> {
  let summary = "dy where relu's result y is above 0, else 0";
  let example = [{%dx = dlc.relu_backward %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$y);
  let results = (outs Dlc_Float:$dx);
}
def Dlc_GeluBackwardOp : Dlc_ActivationBackward<"gelu_backward"> {
  let summary = "dy times the derivative of gelu at x, in f32 or wider";
  let example = [{%dx = dlc.gelu_backward %dy, %x {tanh} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$x, UnitAttr:$tanh);
  let results = (outs Dlc_Float:$dx);
}
def Dlc_IsFiniteOp : Dlc_Elementwise<"is_finite", CastClear, "inferIsFinite"> {
  let summary = "neither infinite nor NaN";
  let shapes = "y as x";
  let example = [{%y = dlc.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>}];
  let arguments = (ins Dlc_Float:$x);
  let results = (outs Dlc_Bool:$y);
}
def Dlc_CastOp : Dlc_Op<"cast", CastClear, [Pure, DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "conversion of the element type; to bool: x != 0";
  let shapes = "y as x";
  let description = "(C1) operand and result have one shape.";
  let example = [{%y = dlc.cast %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>}];
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Dlc_BitCastOp : Dlc_Op<"bit_cast", CastNever, [Pure, DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "reinterprets the bits of a number as another type; a 16-bit type is the lower 16 bits, the others are 0 or dropped";
  let shapes = "y as x";
  let description = [{The payload of a 16-bit NaN is not preserved. (C1) operand and result have one shape; (C2) one is i64 and the other
    f64, or one i32 and the other f32, f16 or bf16.}];
  let example = [{%y = dlc.bit_cast %x : (tensor<2x3xf32>) -> tensor<2x3xi32>}];
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasVerifier = 1;
}

def Dlc_AddOp : Dlc_Binary<"add", CastInfer> { let summary = "a + b"; let hasFolder = 1; }
def Dlc_SubOp : Dlc_Binary<"sub", CastInfer> { let summary = "a - b"; }
def Dlc_MulOp : Dlc_Binary<"mul", CastInfer> { let summary = "a * b"; let hasFolder = 1; }
def Dlc_DivOp : Dlc_Binary<"div", CastInfer> { let summary = "a / b"; }
def Dlc_PowOp : Dlc_Binary<"pow", CastDenyFp16> {
  let summary = "a to the power of b";
  let answers = Dlc_Costly;
}
def Dlc_MaxOp : Dlc_Binary<"max", CastClear> { let summary = "larger of two; NaN if either is"; }
def Dlc_MinOp : Dlc_Binary<"min", CastClear> { let summary = "smaller of two; NaN if either is"; }
def Dlc_AndOp : Dlc_Binary<"and", CastNever> {
  let summary = "logical and";
  let example = "%y = dlc.and %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>";
}
def Dlc_OrOp : Dlc_Binary<"or", CastNever> {
  let summary = "logical or";
  let example = "%y = dlc.or %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>";
}
def Dlc_CompareOp : Dlc_Elementwise<"compare", CastClear, "inferPredicate"> {
  let summary = "comparison";
  let shapes = "y as a and b broadcast";
  let description = Dlc_ElementwiseLaws;
  let example = [{%y = dlc.compare lt %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>}];
  let arguments = (ins Dlc_Predicate:$predicate, Dlc_Tensor:$a, Dlc_Tensor:$b);
  let results = (outs Dlc_Bool:$y);
  let assemblyFormat = "$predicate $a `,` $b attr-dict `:` functional-type(operands, results)";
}
def Dlc_SelectOp : Dlc_Elementwise<"select", CastClear, "inferSelect"> {
  let summary = "condition ? a : b";
  let shapes = "y as all three broadcast";
  let description = "(C1) element types of a and b agree; (C2) shapes broadcast.";
  let example = [{%y = dlc.select %condition, %a, %b
      : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Bool:$condition, Dlc_Tensor:$a, Dlc_Tensor:$b);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_LerpOp : Dlc_Elementwise<"lerp", CastNever> {
  let summary = "a + t * (b - a), as torch rounds it: b - (b - a) * (1 - t) from t = 0.5 on";
  let shapes = "y as all three broadcast";
  let description = Dlc_ElementwiseLaws;
  let example = [{%y = dlc.lerp %a, %b, %t : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, Dlc_Float:$t);
  let results = (outs Dlc_Float:$y);
}

defvar Dlc_DynamicMap = [{The map is that of Dettmers et al. (8-bit Optimizers via Block-wise Quantization, 2022): 0, 1 and, in the
    decade (10^(i-7), 10^(i-6)] for i from 0 to 6, the middles of 2^i parts of equal length and their negatives; with
    `non_negative` instead the middles of 2^(i+1) parts. Codes number its 256 values from the lowest to the highest.}];
def Dlc_DynamicEncodeOp : Dlc_Elementwise<"dynamic_encode", CastNever, "inferDynamicEncode"> {
  let summary = "the code of the value of the dynamic map of 8 bits that is nearest to x; of NaN the code of 0";
  let shapes = "y as x";
  let description = Dlc_DynamicMap;
  let example = "%y = dlc.dynamic_encode %x {non_negative} : (tensor<2x3xf32>) -> tensor<2x3xi8>";
  let arguments = (ins Dlc_Float:$x, UnitAttr:$non_negative);
  let results = (outs RankedTensorOf<[I8]>:$y);
  let answers = Dlc_Costly;
}
def Dlc_DynamicDecodeOp : Dlc_Elementwise<"dynamic_decode", CastNever, "inferDynamicDecode"> {
  let summary = "the value of the dynamic map of 8 bits that has the code x";
  let shapes = "y as x";
  let description = Dlc_DynamicMap;
  let example = "%y = dlc.dynamic_decode %x : (tensor<2x3xi8>) -> tensor<2x3xf32>";
  let arguments = (ins RankedTensorOf<[I8]>:$x, UnitAttr:$non_negative);
  let results = (outs RankedTensorOf<[F32]>:$y);
  let answers = Dlc_Costly;
}
#endif
