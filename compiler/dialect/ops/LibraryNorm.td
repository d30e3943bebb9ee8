// SPDX-License-Identifier: Apache-2.0
// Norms as a GPU's library computes them: dlc-norm-calls creates them from norms placed on the library, after autodiff
// and layout.
#ifndef DLC_LIBRARY_NORM
#define DLC_LIBRARY_NORM
include "DlcBase.td"

def Dlc_FusedBatchNormOp : Dlc_Library<"fused_batch_norm", CastInfer, "inferFusedBatchNorm"> {
  let summary = "training batch norm of channels-last images, with a fused residual addition and ReLU";
  let shapes = "x, residual and y [N, D..., C]; all others [C]";
  let description = [{y = (x - saved_mean) saved_rstd scale + bias, plus `residual`; with `relu` max(y, 0).
    saved_rstd = 1 / sqrt(var + epsilon) of the population variance. It does not update running statistics.
    (C1) x has rank 3 to 5; (C2) there is one value a channel in scale and bias; (C3) a residual has x's type.}];
  let example = [{%y, %m, %v = dlc.fused_batch_norm %x, %s, %s {epsilon = 1.0e-05 : f64, relu}
      : (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>)}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, Optional<Dlc_Float>:$residual,
      F64Attr:$epsilon, UnitAttr:$relu);
  let results = (outs Dlc_Float:$y, Dlc_Float:$saved_mean, Dlc_Float:$saved_rstd);
  let answers = MayLack<"residual", "getResidual">.text;
}
def Dlc_FusedBatchNormBackwardOp : Dlc_Library<"fused_batch_norm_backward", CastInfer, "inferFusedBatchNormBackward"> {
  let summary = "gradients of fused_batch_norm's x, scale and bias";
  let shapes = "dy, x and dx [N, D..., C]; all others [C]";
  let description = [{dy is the gradient of the norm's result or, with `bias` (the norm's), of the ReLU after the norm:
    it is masked where the norm of x, which is recomputed, is not above 0.
    (C1) x has rank 3 to 5; (C2) there is one value a channel in all but dy and x; (C3) dy has x's type.}];
  let example = [{%dx, %ds, %db = dlc.fused_batch_norm_backward %dy, %x, %s, %s, %s, %s
      : (tensor<1x8x8x4xf16>, tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>)}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$saved_mean, Dlc_Float:$saved_rstd,
      Optional<Dlc_Float>:$bias);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dscale, Dlc_Float:$dbias);
  let answers = MayLack<"bias", "getBias">.text;
}
def Dlc_FusedLayerNormOp : Dlc_Library<"fused_layer_norm", CastInfer, "inferFusedLayerNorm"> {
  let summary = "layer_norm, as one call";
  let shapes = "x and y [R..., D...], D from the axis on; scale and bias [D...]; mean and rstd [R..., 1...]";
  let description = "(C1) the axis is within x's rank; (C2) scale and bias have x's dimensions from it on.";
  let example = [{%y, %m, %r = dlc.fused_layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f64}
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Dlc_Float:$y, Dlc_Float:$mean, Dlc_Float:$rstd);
}
def Dlc_FusedLayerNormBackwardOp : Dlc_Library<"fused_layer_norm_backward", CastInfer, "inferFusedLayerNormBackward"> {
  let summary = "layer_norm_backward, as one call";
  let shapes = "dy, x and dx [R..., D...]; scale, dscale and dbias [D...]; mean and rstd [R..., 1...]";
  let description = [{(C1) the axis is within x's rank; (C2) scale has x's dimensions from it on; (C3) dy has x's type;
    (C4) mean and rstd have x's shape with 1 from the axis on.}];
  let example = [{%dx, %ds, %db = dlc.fused_layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64}
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
      -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$mean, Dlc_Float:$rstd,
      I64Attr:$axis);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dscale, Dlc_Float:$dbias);
}
#endif
