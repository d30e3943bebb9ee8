// SPDX-License-Identifier: Apache-2.0
// Matrix products with epilogues in one call of a GPU's library. dlc-matmul-epilogues creates them and only lowering
// sees them, so they have their own header, dialect/Epilogues.h. Each is a single matrix product: b has no batch
// dimensions. Element types are those of a.
#ifndef DLC_EPILOGUES
#define DLC_EPILOGUES
include "DlcBase.td"

class Dlc_MatmulEpilogue<string mnemonic> : Dlc_Op<mnemonic, CastNever,
    [Pure, LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]> {
  let hasVerifier = 1;
}
defvar Dlc_EpilogueLaws = [{(C1) b has rank 2 and a at least 2, or 2 if it is transposed; (C2) contracted sizes agree; (C3) the
    product has the shape of the result that it becomes; (C4) a bias or its gradient is [N]; (C5) element types agree;
    }];
def Dlc_MatmulActivationOp : Dlc_MatmulEpilogue<"matmul_activation"> {
  let summary = "activation(a @ b (+ bias)), and the values that the activation's gradient needs";
  let shapes = "a [..., M, K]; b [K, N]; bias [N]; y and kept [..., M, N]";
  let description = !strconcat([{`kept` is a @ b + bias.
    }], Dlc_EpilogueLaws, [{(C6) the activation is "gelu_tanh"; (C7) `kept` has the type of y.}]);
  let example = [{%y, %k = dlc.matmul_activation %a, %b, %c {activation = "gelu_tanh"}
      : (tensor<2x3xf16>, tensor<3x4xf16>, tensor<4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>)}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, Optional<Dlc_Float>:$bias,
      UnitAttr:$trans_a, UnitAttr:$trans_b, StrAttr:$activation);
  let results = (outs Dlc_Float:$y, Dlc_Float:$kept);
  let answers = MayLack<"bias", "getBias">.text;
}
def Dlc_MatmulBiasBackwardOp : Dlc_MatmulEpilogue<"matmul_bias_backward"> {
  let summary = "a @ b, and the sum of one operand over the contracted dimension";
  let shapes = "a [K, M] or, transposed, [M, K]; b [K, N] or [N, K]; y [M, N]; dbias [M] of a, [N] of b";
  let description = !strconcat([{`of` = "a", which is then transposed, or "b", which is not: the sum over their stored rows.
    The operand is a gradient, the other one what the layer multiplied: y is the weights' gradient, dbias the bias's.
    }], Dlc_EpilogueLaws, "(C6) `of` is the transposed a or the plain b; (C7) a has rank 2.");
  let example = [{%y, %d = dlc.matmul_bias_backward %a, %b {of = "a", trans_a}
      : (tensor<3x2xf16>, tensor<3x4xf16>) -> (tensor<2x4xf16>, tensor<2xf16>)}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, UnitAttr:$trans_a, UnitAttr:$trans_b, StrAttr:$of);
  let results = (outs Dlc_Float:$y, Dlc_Float:$dbias);
}
#endif
