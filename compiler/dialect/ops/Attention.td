// SPDX-License-Identifier: Apache-2.0
// Scaled dot product attention. The scores, [Tq, Tk] per head, are never stored: the backward op recomputes them.
#ifndef DLC_ATTENTION
#define DLC_ATTENTION
include "DlcBase.td"

defvar Dlc_AttentionAttributes = (ins F64Attr:$scale, UnitAttr:$causal,
    DefaultValuedStrAttr<StrAttr, "bhtd">:$layout, Dlc_PlacedBy:$by);

def Dlc_AttentionOp : Dlc_Library<"attention", CastAllow, "inferAttention", [PlaceableInterface]> {
  let summary = "scaled dot product attention y = softmax(scale q k^T + mask) v, and lse, the log-sum-exp of each row of scores";
  let shapes = [{q [B, H, Tq, D]; k [B, H, Tk, D]; v [B, H, Tk, Dv]; mask [1 or B, 1 or H, 1 or Tq, 1 or Tk]; y [B, H,
    Tq, Dv]; lse [B, H, Tq, 1]; with layout "bthd", T precedes H in all but mask and lse}];
  let description = [{`scale`: the factor of q k^T, usually 1 / sqrt(D). `causal`: query i sees the keys 0..i, also if Tq != Tk. `mask`: booleans,
    true where a query sees a key, or floats that are added to the scores; the mask gets no gradient. `layout`: "bthd" is the layout
    of a projection to [B, T, H * D]. lse is f32 (f64 if q is). A query that sees no key has y = 0 and lse = inf. Softmax and sums are
    computed in f32 or wider. (C1) q, k and v have rank 4; (C2) q, k and v have equal B and H; (C3) q and k have equal D, and k and v
    equal Tk; (C4) the mask has rank 4 and broadcasts to [B, H, Tq, Tk]; (C5) q, k and v have one element type;
    (C6) the layout is "bhtd" or "bthd".}];
  let example = [{%y, %lse = dlc.attention %q, %k, %v {causal, scale = 0.25 : f64}
      : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
      -> (tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>)}];
  let arguments = !con((ins Dlc_Float:$q, Dlc_Float:$k, Dlc_Float:$v, Optional<Dlc_Tensor>:$mask),
      Dlc_AttentionAttributes);
  let results = (outs Dlc_Float:$y, Dlc_Float:$lse);
  let answers = Pins<"i == 3", "i == 1">.text # MayLack<"mask", "getMask">.text # PlacedAs<"attention">.text;
  let assemblyFormat = Dlc_PlacedFormat;
}
def Dlc_AttentionBackwardOp : Dlc_Library<"attention_backward", CastAllow, "inferAttentionBackward", [PlaceableInterface]> {
  let summary = "gradients of q, k and v of attention";
  let shapes = "as attention; dq as q, dk as k, dv as v, dy as y";
  let description = [{dq = scale ds k, dk = scale ds^T q and dv = p^T dy, where p = exp(scale q k^T + mask - lse), 0 where a query does not see
    a key, ds = p * (dy v^T - delta), and delta [B, H, Tq, 1] is the sum of dy * y over Dv. Attributes are those of attention. As of
    attention: (C1), (C2), (C3), (C4), (C5), (C6); (C7) dy, y and lse have the types of attention's results.}];
  let example = [{%dq, %dk, %dv = dlc.attention_backward %dy, %q, %k, %v, %y, %l {causal, scale = 2.500000e-01 : f64}
      : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>,
         tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>)
      -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)}];
  let arguments = !con((ins Dlc_Float:$dy, Dlc_Float:$q, Dlc_Float:$k, Dlc_Float:$v, Dlc_Float:$y, Dlc_Float:$lse,
      Optional<Dlc_Tensor>:$mask), Dlc_AttentionAttributes);
  let results = (outs Dlc_Float:$dq, Dlc_Float:$dk, Dlc_Float:$dv);
  let answers = Pins<"i >= 5">.text # MayLack<"mask", "getMask">.text # PlacedAs<"attention">.text;
  let assemblyFormat = Dlc_PlacedFormat;
}
#endif
