// SPDX-License-Identifier: Apache-2.0
// Norms as a GPU's library computes them. dlc-norm-calls creates these ops from norms that are placed on the library, after
// autodiff and layout.
#ifndef DLC_LIBRARY_NORM
#define DLC_LIBRARY_NORM
include "DlcBase.td"

def Dlc_FusedBatchNormOp : Dlc_Library<"fused_batch_norm", CastInfer, "inferFusedBatchNorm"> {
  let summary = "batch norm of channels-last images in training, with a fused residual addition and ReLU";
  let shapes = "x, residual and y [N, D..., C]; all others [C]";
  let description = [{y = (x - saved_mean) saved_rstd scale + bias + residual or, with `relu`, the maximum of that and 0. saved_rstd = 1 / sqrt(var +
    epsilon), where var is the population variance of a channel. Running statistics are not updated.
    (C1) x has rank 3 to 5; (C2) scale and bias have shape [C]; (C3) the residual has the type of x.}];
  let example = [{%y, %m, %v = dlc.fused_batch_norm %x, %s, %s {epsilon = 1.0e-05 : f64, relu}
      : (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>)}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, Optional<Dlc_Float>:$residual,
      F64Attr:$epsilon, UnitAttr:$relu);
  let results = (outs Dlc_Float:$y, Dlc_Float:$saved_mean, Dlc_Float:$saved_rstd);
  let answers = MayLack<"residual", "getResidual">.text;
}
def Dlc_FusedBatchNormBackwardOp : Dlc_Library<"fused_batch_norm_backward", CastInfer, "inferFusedBatchNormBackward"> {
  let summary = "gradients of x, scale and bias of fused_batch_norm";
  let shapes = "dy, x and dx [N, D..., C]; all others [C]";
  let description = [{dy is the gradient of the norm's result or, if the operand `bias` (of the norm) is present, of a ReLU after the norm: then
    the norm of x is recomputed, and dy counts as 0 where the norm is not above 0.
    (C1) x has rank 3 to 5; (C2) all others have shape [C]; (C3) dy has the type of x.}];
  let example = [{%dx, %ds, %db = dlc.fused_batch_norm_backward %dy, %x, %s, %s, %s, %s
      : (tensor<1x8x8x4xf16>, tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>)}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$saved_mean, Dlc_Float:$saved_rstd,
      Optional<Dlc_Float>:$bias);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dscale, Dlc_Float:$dbias);
  let answers = MayLack<"bias", "getBias">.text;
}
def Dlc_FusedLayerNormOp : Dlc_Library<"fused_layer_norm", CastInfer, "inferFusedLayerNorm"> {
  let summary = "layer_norm as one library call";
  let shapes = "x and y [R..., D...], D from the axis on; scale and bias [D...]; mean and rstd [R..., 1...]";
  let description = "Attributes are those of layer_norm. (C1) `axis` is in [0, rank of x); (C2) scale and bias have shape [D...].";
  let example = [{%y, %m, %r = dlc.fused_layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f64}
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Dlc_Float:$y, Dlc_Float:$mean, Dlc_Float:$rstd);
}
def Dlc_FusedLayerNormBackwardOp : Dlc_Library<"fused_layer_norm_backward", CastInfer, "inferFusedLayerNormBackward"> {
  let summary = "layer_norm_backward as one library call";
  let shapes = "dy, x and dx [R..., D...]; scale, dscale and dbias [D...]; mean and rstd [R..., 1...]";
  let description = [{(C1) `axis` is in [0, rank of x); (C2) scale has shape [D...]; (C3) dy has the type of x;
    (C4) mean and rstd have shape [R..., 1...].}];
  let example = [{%dx, %ds, %db = dlc.fused_layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64}
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
      -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$mean, Dlc_Float:$rstd,
      I64Attr:$axis);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dscale, Dlc_Float:$dbias);
}
#endif
