// SPDX-License-Identifier: Apache-2.0
// Matrix products with epilogues in one call of a GPU's library. dlc-matmul-epilogues creates these ops and only lowering
// sees them, so they have their own header, dialect/Epilogues.h. Each op is a single matrix product: b has no batch
// dimensions. trans_a and trans_b: the last two dimensions of a or b are transposed. All element types are that of a.
#ifndef DLC_EPILOGUES
#define DLC_EPILOGUES
include "DlcBase.td"

class Dlc_MatmulEpilogue<string mnemonic> : Dlc_Op<mnemonic, CastNever,
    [Pure, LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let hasVerifier = 1;
}
defvar Dlc_EpilogueLaws = [{(C1) b has rank 2, and a rank 2 or, if a is not transposed, more; (C2) contracted sizes are equal; (C3) the
    result y has the shape of a @ b; (C4) bias and dbias have the shapes above; (C5) element types are equal;
    }];
def Dlc_MatmulActivationOp : Dlc_MatmulEpilogue<"matmul_activation"> {
  let summary = "matrix product with activation: y = activation(a @ b (+ bias)), and the activation's operand `kept`";
  let shapes = "a [..., M, K]; b [K, N]; bias [N]; y and kept [..., M, N]";
  let description = !strconcat([{kept = a @ b + bias, which the gradient of the activation reads.
    }], Dlc_EpilogueLaws, [{(C6) `activation` is "gelu_tanh"; (C7) `kept` has the type of y.}]);
  let example = [{%y, %k = dlc.matmul_activation %a, %b, %c {activation = "gelu_tanh"}
      : (tensor<2x3xf16>, tensor<3x4xf16>, tensor<4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>)}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, Optional<Dlc_Float>:$bias,
      UnitAttr:$trans_a, UnitAttr:$trans_b, StrAttr:$activation);
  let results = (outs Dlc_Float:$y, Dlc_Float:$kept);
  let answers = MayLack<"bias", "getBias">.text;
}
def Dlc_MatmulBiasBackwardOp : Dlc_MatmulEpilogue<"matmul_bias_backward"> {
  let summary = "matrix product y = a @ b and dbias, the sum of one operand over the contracted dimension K";
  let shapes = "a [K, M] or, transposed, [M, K]; b [K, N] or [N, K]; y [M, N]; dbias [M] of a, [N] of b";
  let description = !strconcat([{`of`: the operand that is summed over its stored rows, "a" (transposed) or "b" (not transposed). That operand is the
    gradient of a linear layer's result and the other one the layer's input, so y is the gradient of the weight and dbias of the bias.
    }], Dlc_EpilogueLaws, "(C6) `of` is \"a\" and a is transposed, or `of` is \"b\" and b is not; (C7) a has rank 2.");
  let example = [{%y, %d = dlc.matmul_bias_backward %a, %b {of = "a", trans_a}
      : (tensor<3x2xf16>, tensor<3x4xf16>) -> (tensor<2x4xf16>, tensor<2xf16>)}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, UnitAttr:$trans_a, UnitAttr:$trans_b, StrAttr:$of);
  let results = (outs Dlc_Float:$y, Dlc_Float:$dbias);
}
#endif
