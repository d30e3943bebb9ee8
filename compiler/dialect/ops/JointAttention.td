// SPDX-License-Identifier: Apache-2.0
// Attention on the result of a joint projection. dlc-join-attention creates these ops from attention that is placed on the
// library, after autodiff and layout.
#ifndef DLC_JOINT_ATTENTION
#define DLC_JOINT_ATTENTION
include "DlcBase.td"

def Dlc_AttentionJointOp : Dlc_Library<"attention_joint", CastInfer, "inferAttentionJoint"> {
  let summary = "attention with layout \"bthd\" whose queries, keys and values are slices of one tensor, qkv";
  let shapes = "qkv [B, T, 3 H, D]: H heads of queries, then of keys, then of values; mask as attention's; y [B, T, H, D]; lse [B, H, T, 1]";
  let description = [{`scale`, `causal`, `mask` and lse are those of attention.
    (C1) qkv has rank 4, and its dimension 2 is a multiple of 3; (C2) the mask has rank 4.}];
  let example = [{%y, %l = dlc.attention_joint %qkv {causal, scale = 0.25 : f64}
      : (tensor<2x8x12x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8x1xf32>)}];
  let arguments = (ins Dlc_Float:$qkv, Optional<Dlc_Tensor>:$mask, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Dlc_Float:$y, Dlc_Float:$lse);
  let answers = MayLack<"mask", "getMask">.text;
}
def Dlc_AttentionJointBackwardOp : Dlc_Library<"attention_joint_backward", CastInfer, "inferAttentionJointBackward"> {
  let summary = "gradient of qkv of attention_joint";
  let shapes = "as attention_joint; dy as y, dqkv as qkv";
  let description = [{Formulas are those of attention_backward.
    As of attention_joint: (C1), (C2); (C3) dy, y and lse have the types of attention_joint's results.}];
  let example = [{%d = dlc.attention_joint_backward %dy, %qkv, %y, %l {causal, scale = 0.25 : f64}
      : (tensor<2x8x4x16xf32>, tensor<2x8x12x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8x1xf32>)
      -> tensor<2x8x12x16xf32>}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$qkv, Dlc_Float:$y, Dlc_Float:$lse, Optional<Dlc_Tensor>:$mask,
      F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Dlc_Float:$dqkv);
  let answers = MayLack<"mask", "getMask">.text;
}
#endif
