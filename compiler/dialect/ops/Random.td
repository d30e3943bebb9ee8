// SPDX-License-Identifier: Apache-2.0
// Random numbers (Philox4x32-10, runtime/base/numbers/Philox.h). `dlc.uniform` is a pure function of a key, the number of
// the draw and a position, so it can be fused, and its results do not depend on the number of threads.
#ifndef DLC_RANDOM
#define DLC_RANDOM
include "DlcBase.td"
include "ops/Elementwise.td"

// dropout and noise are ops of imported models, which dlc-randomize replaces. `id` prevents CSE of equal ones.
def Dlc_DropoutOp : Dlc_Pure<"dropout", CastNever, "inferSameAsFirst"> {
  let summary = "dropout: in training 0 with probability `ratio`, else x / (1 - ratio); outside of training the identity";
  let shapes = "y as x";
  let description = [{`shared`: dimensions along which all elements are dropped together. `id`: distinguishes equal ops.}];
  let example = [{%y = dlc.dropout %x {id = "a", ratio = 5.000000e-01 : f64, shared = array<i64: 0>}
      : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, F64Attr:$ratio, Dlc_Ints:$shared, StrAttr:$id);
  let results = (outs Dlc_Float:$y);
}
def Dlc_NoiseOp : Dlc_Op<"noise", CastNever, [Pure]> {
  let summary = "random numbers, new in each execution: uniform in [0, 1) or, with `normal`, standard normal";
  let shapes = "y any";
  let example = [{%y = dlc.noise {id = "b", normal} : () -> tensor<2x3xf32>}];
  let arguments = (ins UnitAttr:$normal, StrAttr:$id);
  let results = (outs Dlc_Float:$y);
}

def Dlc_PositionOp : Dlc_Op<"position", CastNever, [Pure, GeneratorInterface]> {
  let summary = "row-major index of each element, from 0";
  let shapes = "y any";
  let example = [{%y = dlc.position : () -> tensor<2x3xi64>}];
  let results = (outs Dlc_Index:$y);
}
def Dlc_UniformOp : Dlc_Elementwise<"uniform", CastNever, "inferUniform"> {
  let summary = "two uniform random numbers in [0, 1), of the upper 24 bits of the first two words of Philox(key, position, draw)";
  let shapes = "u and v as all three broadcast";
  let description = "(C1) Shapes of operands broadcast like numpy's.";
  let example = [{%u, %v = dlc.uniform %position, %draw, %key
      : (tensor<2x3xi64>, tensor<i64>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)}];
  let answers = Dlc_Costly;
  let arguments = (ins Dlc_Index:$position, Dlc_Index:$draw, Dlc_Index:$key);
  let results = (outs Dlc_Float:$u, Dlc_Float:$v);
}
#endif
