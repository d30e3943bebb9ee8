// SPDX-License-Identifier: Apache-2.0
// Elementwise ops: an element of the result is computed from the elements of the operands at its index. Operands broadcast
// like numpy's. Operands have one element type, which is also the result's; autocast inserts the casts.
#ifndef DLC_ELEMENTWISE
#define DLC_ELEMENTWISE
include "DlcBase.td"

defvar Dlc_ElementwiseLaws = "(C1) Operands have one element type; (C2) shapes of operands broadcast like numpy's.";

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
def Dlc_SignOp : Dlc_Unary<"sign", CastClear> { let summary = "sign: -1, 0 or 1"; }
def Dlc_FloorOp : Dlc_Unary<"floor", CastClear> { let summary = "floor: the largest integer that is not above x"; }
def Dlc_CeilOp : Dlc_Unary<"ceil", CastClear> { let summary = "ceiling: the smallest integer that is not below x"; }
def Dlc_RoundOp : Dlc_Unary<"round", CastClear> { let summary = "nearest integer; halves are rounded to even"; }
def Dlc_ExpOp : Dlc_CostlyUnary<"exp", CastDenyFp16> { let summary = "exponential e^x"; }
def Dlc_LogOp : Dlc_CostlyUnary<"log", CastDeny> { let summary = "natural logarithm"; }
def Dlc_SqrtOp : Dlc_Unary<"sqrt", CastInfer> { let summary = "square root"; }
def Dlc_RsqrtOp : Dlc_Unary<"rsqrt", CastDenyFp16> { let summary = "reciprocal square root 1 / sqrt(x)"; }
def Dlc_ReciprocalOp : Dlc_Unary<"reciprocal", CastDenyFp16> { let summary = "reciprocal 1 / x"; }
def Dlc_TanhOp : Dlc_CostlyUnary<"tanh", CastInfer> { let summary = "hyperbolic tangent"; }
def Dlc_SigmoidOp : Dlc_CostlyUnary<"sigmoid", CastInfer> { let summary = "logistic function 1 / (1 + exp(-x))"; }
def Dlc_StopGradientOp : Dlc_Unary<"stop_gradient", CastClear> {
  let summary = "identity with gradient 0 (PyTorch's detach); dlc-autodiff removes the op";
}
def Dlc_ScaleGradientOp : Dlc_Unary<"scale_gradient", CastDeny> {
  let summary = "identity whose gradient is multiplied by `factor`; dlc-autodiff removes the op";
  let example = [{%y = dlc.scale_gradient %x {factor = 5.0e-1} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, F64Attr:$factor);
}
def Dlc_ReluOp : Dlc_Unary<"relu", CastClear> { let summary = "rectified linear unit max(x, 0)"; }
def Dlc_ErfOp : Dlc_CostlyUnary<"erf", CastInfer> { let summary = "error function"; }
def Dlc_SinOp : Dlc_CostlyUnary<"sin", CastInfer> { let summary = "sine of x in radians"; }
def Dlc_CosOp : Dlc_CostlyUnary<"cos", CastInfer> { let summary = "cosine of x in radians"; }
def Dlc_AtanOp : Dlc_CostlyUnary<"atan", CastInfer> { let summary = "inverse tangent in radians"; }
def Dlc_SoftplusOp : Dlc_CostlyUnary<"softplus", CastDenyFp16> { let summary = "log(1 + exp(x))"; }
def Dlc_NotOp : Dlc_Unary<"not", CastNever> {
  let summary = "logical negation";
  let example = "%y = dlc.not %x : (tensor<2x3xi1>) -> tensor<2x3xi1>";
}
def Dlc_GeluOp : Dlc_CostlyUnary<"gelu", CastInfer> {
  let summary = "Gaussian error linear unit x / 2 (1 + erf(x / sqrt(2))) or, with `tanh`, x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))";
  let example = [{%y = dlc.gelu %x {tanh} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, UnitAttr:$tanh);
}
// Gradients that stay one op until dlc-decompose, so that dlc-matmul-epilogues can fuse them into library calls.
class Dlc_ActivationBackward<string mnemonic> : Dlc_Pure<mnemonic, CastNever, "inferActivationBackward", [Elementwise]> {
  let shapes = "all alike";
  let description = "(C1) Both operands have one type.";
}
def Dlc_ReluBackwardOp : Dlc_ActivationBackward<"relu_backward"> {
  let summary = "gradient of relu: dy where relu's result y is above 0, else 0";
  let example = [{%dx = dlc.relu_backward %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$y);
  let results = (outs Dlc_Float:$dx);
}
def Dlc_GeluBackwardOp : Dlc_ActivationBackward<"gelu_backward"> {
  let summary = "gradient of gelu: dy gelu'(x), computed in f32 or wider; `tanh` as of gelu";
  let example = [{%dx = dlc.gelu_backward %dy, %x {tanh} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$x, UnitAttr:$tanh);
  let results = (outs Dlc_Float:$dx);
}
def Dlc_IsFiniteOp : Dlc_Elementwise<"is_finite", CastClear, "inferIsFinite"> {
  let summary = "test for a finite number: true unless x is infinite or NaN";
  let shapes = "y as x";
  let example = [{%y = dlc.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>}];
  let arguments = (ins Dlc_Float:$x);
  let results = (outs Dlc_Bool:$y);
}
def Dlc_CastOp : Dlc_Op<"cast", CastClear, [Pure, DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "conversion of the element type; to i1: x != 0";
  let shapes = "y as x";
  let description = "(C1) Operand and result have one shape.";
  let example = [{%y = dlc.cast %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>}];
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Dlc_BitCastOp : Dlc_Op<"bit_cast", CastNever, [Pure, DeclareOpInterfaceMethods<ElementwiseInterface>]> {
  let summary = "reinterpretation of the bits as another type; a 16-bit float is the lower half of an i32, whose upper half is 0 or dropped";
  let shapes = "y as x";
  let description = [{The payload of a 16-bit NaN is not preserved. (C1) Operand and result have one shape; (C2) one element type is i64 and the
    other f64, or one is i32 and the other f32, f16 or bf16.}];
  let example = [{%y = dlc.bit_cast %x : (tensor<2x3xf32>) -> tensor<2x3xi32>}];
  let arguments = (ins Dlc_Tensor:$x);
  let results = (outs Dlc_Tensor:$y);
  let hasVerifier = 1;
}

def Dlc_AddOp : Dlc_Binary<"add", CastInfer> { let summary = "sum a + b"; let hasFolder = 1; }
def Dlc_SubOp : Dlc_Binary<"sub", CastInfer> { let summary = "difference a - b"; }
def Dlc_MulOp : Dlc_Binary<"mul", CastInfer> { let summary = "product a * b"; let hasFolder = 1; }
def Dlc_DivOp : Dlc_Binary<"div", CastInfer> { let summary = "quotient a / b"; }
def Dlc_PowOp : Dlc_Binary<"pow", CastDenyFp16> {
  let summary = "power a^b";
  let answers = Dlc_Costly;
}
def Dlc_MaxOp : Dlc_Binary<"max", CastClear> { let summary = "maximum of a and b; NaN if a or b is NaN"; }
def Dlc_MinOp : Dlc_Binary<"min", CastClear> { let summary = "minimum of a and b; NaN if a or b is NaN"; }
def Dlc_AndOp : Dlc_Binary<"and", CastNever> {
  let summary = "logical conjunction";
  let example = "%y = dlc.and %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>";
}
def Dlc_OrOp : Dlc_Binary<"or", CastNever> {
  let summary = "logical disjunction";
  let example = "%y = dlc.or %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>";
}
def Dlc_CompareOp : Dlc_Elementwise<"compare", CastClear, "inferPredicate"> {
  let summary = "comparison of a and b by `predicate`: eq, ne, lt, le, gt or ge; all but ne are false for NaN";
  let shapes = "y as a and b broadcast";
  let description = Dlc_ElementwiseLaws;
  let example = [{%y = dlc.compare lt %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>}];
  let arguments = (ins Dlc_Predicate:$predicate, Dlc_Tensor:$a, Dlc_Tensor:$b);
  let results = (outs Dlc_Bool:$y);
  let assemblyFormat = "$predicate $a `,` $b attr-dict `:` functional-type(operands, results)";
}
def Dlc_SelectOp : Dlc_Elementwise<"select", CastClear, "inferSelect"> {
  let summary = "choice: a where the condition is true, else b";
  let shapes = "y as all three broadcast";
  let description = "(C1) a and b have one element type; (C2) shapes of operands broadcast like numpy's.";
  let example = [{%y = dlc.select %condition, %a, %b
      : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Bool:$condition, Dlc_Tensor:$a, Dlc_Tensor:$b);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_LerpOp : Dlc_Elementwise<"lerp", CastNever> {
  let summary = "linear interpolation a + t (b - a), with PyTorch's rounding: b - (b - a) (1 - t) if t >= 0.5";
  let shapes = "y as all three broadcast";
  let description = Dlc_ElementwiseLaws;
  let example = [{%y = dlc.lerp %a, %b, %t : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, Dlc_Float:$t);
  let results = (outs Dlc_Float:$y);
}

defvar Dlc_DynamicMap = [{The map has 256 values (Dettmers et al., 8-bit Optimizers via Block-wise Quantization, 2022): 0, 1 and, in each decade
    (10^(i-7), 10^(i-6)] for i = 0..6, the centers of 2^i intervals of equal length and their negatives; with `non_negative`, the
    centers of 2^(i+1) intervals instead. A code is the index of a value in ascending order, stored in 8 bits.}];
def Dlc_DynamicEncodeOp : Dlc_Elementwise<"dynamic_encode", CastNever, "inferDynamicEncode"> {
  let summary = "quantization to 8 bits: the code of the dynamic map's value nearest to x; NaN gets the code of 0";
  let shapes = "y as x";
  let description = Dlc_DynamicMap;
  let example = "%y = dlc.dynamic_encode %x {non_negative} : (tensor<2x3xf32>) -> tensor<2x3xi8>";
  let arguments = (ins Dlc_Float:$x, UnitAttr:$non_negative);
  let results = (outs RankedTensorOf<[I8]>:$y);
  let answers = Dlc_Costly;
}
def Dlc_DynamicDecodeOp : Dlc_Elementwise<"dynamic_decode", CastNever, "inferDynamicDecode"> {
  let summary = "dequantization of 8 bits: the dynamic map's value of code x";
  let shapes = "y as x";
  let description = Dlc_DynamicMap;
  let example = "%y = dlc.dynamic_decode %x : (tensor<2x3xi8>) -> tensor<2x3xf32>";
  let arguments = (ins RankedTensorOf<[I8]>:$x, UnitAttr:$non_negative);
  let results = (outs RankedTensorOf<[F32]>:$y);
  let answers = Dlc_Costly;
}
#endif
