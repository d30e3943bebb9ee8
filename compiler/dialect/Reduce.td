// Reductions over `axes`, which are sorted and not negative; reduced dimensions stay with size 1 with `keepdims`.
#ifndef DLC_REDUCE
#define DLC_REDUCE
include "DlcBase.td"

class Dlc_Reduce<string mnemonic, Dlc_Cast cast, string infer = "inferReduce">
    : Dlc_Pure<mnemonic, cast, infer> {
  let arguments = (ins Dlc_Tensor:$x, Dlc_Ints:$axes, UnitAttr:$keepdims);
  let results = (outs Dlc_Tensor:$y);
}
def Dlc_ReduceSumOp : Dlc_Reduce<"reduce_sum", CastDenyFp16> { let summary = "sum, accumulated in f32"; }
def Dlc_ReduceMeanOp : Dlc_Reduce<"reduce_mean", CastInfer> { let summary = "mean, accumulated in f32"; }
def Dlc_ReduceMaxOp : Dlc_Reduce<"reduce_max", CastClear> { let summary = "maximum"; }
def Dlc_ReduceMinOp : Dlc_Reduce<"reduce_min", CastClear> { let summary = "minimum"; }
def Dlc_ArgMaxOp : Dlc_Reduce<"argmax", CastClear, "inferArgMax"> {
  let summary = "index of the first maximum along the only axis of `axes`";
  let results = (outs Dlc_Index:$y);
}
#endif
