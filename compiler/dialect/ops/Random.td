// SPDX-License-Identifier: Apache-2.0
// Random numbers (Philox4x32-10, runtime/base/numbers/Philox.h). `dlc.uniform` is a pure function of a key, the number of
// the draw and a position, so it can be fused and does not depend on the number of threads.
#ifndef DLC_RANDOM
#define DLC_RANDOM
include "DlcBase.td"
include "ops/Elementwise.td"

// Of a model as it is imported; dlc-randomize replaces both. `id` tells equal ones apart.
def Dlc_DropoutOp : Dlc_Pure<"dropout", CastNever, "inferSameAsFirst"> {
  let summary = "in training: 0 with probability `ratio`, else x / (1 - ratio); otherwise x";
  let shapes = "y as x";
  let description = [{Elements that differ only in `shared` dimensions are dropped together.}];
  let example = [{%y = dlc.dropout %x {id = "a", ratio = 5.000000e-01 : f64, shared = array<i64: 0>}
      : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$x, F64Attr:$ratio, Dlc_Ints:$shared, StrAttr:$id);
  let results = (outs Dlc_Float:$y);
}
def Dlc_NoiseOp : Dlc_Op<"noise", CastNever, [Pure]> {
  let summary = "new random numbers: uniform in [0, 1), or normal(0, 1) when `normal` is set";
  let shapes = "y any";
  let example = [{%y = dlc.noise {id = "b", normal} : () -> tensor<2x3xf32>}];
  let arguments = (ins UnitAttr:$normal, StrAttr:$id);
  let results = (outs Dlc_Float:$y);
}

def Dlc_PositionOp : Dlc_Op<"position", CastNever, [Pure, GeneratorInterface]> {
  let summary = "the row-major index of each element";
  let shapes = "y any";
  let example = [{%y = dlc.position : () -> tensor<2x3xi64>}];
  let results = (outs Dlc_Index:$y);
}
def Dlc_UniformOp : Dlc_Elementwise<"uniform", CastNever, "inferUniform"> {
  let summary = "two numbers in [0, 1): the upper 24 bits of the first two words of Philox(key, position, draw)";
  let shapes = "u and v as all three broadcast";
  let description = "(C1) shapes broadcast.";
  let example = [{%u, %v = dlc.uniform %position, %draw, %key
      : (tensor<2x3xi64>, tensor<i64>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)}];
  let answers = Dlc_Costly;
  let arguments = (ins Dlc_Index:$position, Dlc_Index:$draw, Dlc_Index:$key);
  let results = (outs Dlc_Float:$u, Dlc_Float:$v);
}
#endif
