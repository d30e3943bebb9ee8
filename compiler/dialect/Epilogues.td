// Products with the work around them in one call of a GPU's library. dlc-matmul-epilogues makes them and lowering alone
// sees them, so that they have a header of their own, dialect/Epilogues.h. All operands and results of one are a single
// product of matrices: b has no batch dimensions. Element types are those of a.
#ifndef DLC_EPILOGUES
#define DLC_EPILOGUES
include "DlcBase.td"

class Dlc_MatmulEpilogue<string mnemonic> : Dlc_Op<mnemonic, CastNever,
    [Pure, LibraryInterface, DeclareOpInterfaceMethods<FlopsInterface>]>;
def Dlc_MatmulActivationOp : Dlc_MatmulEpilogue<"matmul_activation"> {
  let summary = "activation(a @ b (+ bias)), and what the activation's gradient needs";
  let description = [{`activation` is "relu" or "gelu_tanh". `kept` of gelu_tanh is a @ b + bias, as y; of relu a bit for
    each element of y, rows of y in whole 128 bits, i8 [..., ceil(N/128) * 16], that only the device understands.}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, Optional<Dlc_Float>:$bias,
      UnitAttr:$trans_a, UnitAttr:$trans_b, StrAttr:$activation);
  let results = (outs Dlc_Float:$y, Dlc_Tensor:$kept);
}
def Dlc_MatmulActivationBackwardOp : Dlc_MatmulEpilogue<"matmul_activation_backward"> {
  let summary = "(a @ b) * activation'(x), and its sum over all rows";
  let description = [{a @ b is the gradient of the activation's result; `kept` as matmul_activation has it; dbias is [N].}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, Dlc_Tensor:$kept,
      UnitAttr:$trans_a, UnitAttr:$trans_b, StrAttr:$activation);
  let results = (outs Dlc_Float:$dx, Optional<Dlc_Float>:$dbias);
}
def Dlc_MatmulBiasBackwardOp : Dlc_MatmulEpilogue<"matmul_bias_backward"> {
  let summary = "a @ b, and the sum of one operand over the contracted dimension";
  let description = [{`of` = "a", which is then transposed, or "b", which is not: the sum over their stored rows.
    The operand is a gradient, the other one what the layer multiplied: y is the weights' gradient, dbias the bias's.}];
  let arguments = (ins Dlc_Float:$a, Dlc_Float:$b, UnitAttr:$trans_a, UnitAttr:$trans_b, StrAttr:$of);
  let results = (outs Dlc_Float:$y, Dlc_Float:$dbias);
}
#endif
