// SPDX-License-Identifier: Apache-2.0
// Reductions over the dimensions `axes`, which are sorted and not negative. With `keepdims`, these remain with size 1.
#ifndef DLC_REDUCE
#define DLC_REDUCE
include "DlcBase.td"

class Dlc_Reduce<string combine, Dlc_Cast cast, string mnemonic = "reduce_" # combine, string infer = "inferReduce">
    : Dlc_Pure<mnemonic, cast, infer, [ReductionInterface]> {
  let shapes = "y as x without the axes or, with keepdims, with 1 in their places";
  let description = "(C1) `axes` are sorted, distinct and in [0, rank of x).";
  let example = "%y = dlc." # mnemonic # " %x {axes = array<i64: 1>, keepdims} : (tensor<2x3xf32>) -> tensor<2x1xf32>";
  let answers = "static Combine combine() { return Combine::" # combine # "; }\n";
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$axes, UnitAttr:$keepdims);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_ReduceSumOp : Dlc_Reduce<"sum", CastDenyFp16> { let summary = "sum over `axes`, accumulated in f32 or wider"; }
def Dlc_ReduceMeanOp : Dlc_Reduce<"mean", CastInfer> { let summary = "mean over `axes`, accumulated in f32 or wider"; }
def Dlc_ReduceMaxOp : Dlc_Reduce<"max", CastClear> { let summary = "maximum over `axes`"; }
def Dlc_ReduceMinOp : Dlc_Reduce<"min", CastClear> { let summary = "minimum over `axes`"; }
def Dlc_ArgMaxOp : Dlc_Reduce<"argmax", CastClear, "argmax", "inferArgMax"> {
  let summary = "index of the first maximum along one dimension";
  let description = "(C1) `axes` are sorted, distinct and in [0, rank of x); (C2) `axes` has one element.";
  let example = "%y = dlc.argmax %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xi64>";
  let results = (outs Dlc_Index:$y);
}
#endif
