// SPDX-License-Identifier: Apache-2.0
// Normalization and softmax. Statistics, scales and biases are f32 whatever the precision of x.
#ifndef DLC_NORM
#define DLC_NORM
include "DlcBase.td"

defvar Dlc_BatchNormLaws = [{(C1) x has rank 2 or more; (C2) all operands but x and dy have shape [C]; (C3) the layout is
    nchw or nhwc.}];

def Dlc_BatchNormOp : Dlc_Library<"batch_norm", CastInfer, "inferBatchNorm", [ImageInterface, PlaceableInterface]> {
  let summary = "batch norm in training: y = (x - mean) / sqrt(var + epsilon) scale + bias by the batch's statistics, and new running statistics";
  let shapes = "x and y [N, C, ...] or, channels last, [N, ..., C]; all others [C]";
  let description = !strconcat([{saved_mean and saved_var are the mean and population variance of the batch per channel; new_mean and new_var are mean and
    var times `momentum` plus those of the batch times 1 - `momentum`. With `unbiased`, the running variance is updated by saved_var
    n / (n - 1) for n values per channel, as in PyTorch; without, by saved_var, as in ONNX.
    }], Dlc_BatchNormLaws, " (C4) `by` is open, library or decomposed.");
  let example = [{%y, %m, %v, %a, %b = dlc.batch_norm %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64}
      : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, Dlc_Float:$mean, Dlc_Float:$var,
      F64Attr:$epsilon, F64Attr:$momentum, UnitAttr:$unbiased,
      DefaultValuedStrAttr<StrAttr, "nchw">:$layout, Dlc_PlacedBy:$by);
  let results = (outs Dlc_Float:$y, Dlc_Float:$new_mean, Dlc_Float:$new_var,
      Dlc_Float:$saved_mean, Dlc_Float:$saved_var);
  let assemblyFormat = Dlc_PlacedFormat;
  let answers = Pins<"i > 0", "i > 0">.text # Images<"0", "0">.text # PlacedAs<"norm">.text
      // New statistics may lie where the old ones do.
      # "static bool mayOverwrite(unsigned result, unsigned operand) {\n"
      # "  return (result == 1 && operand == 3) || (result == 2 && operand == 4);\n}\n";
}
def Dlc_BatchNormBackwardOp : Dlc_Library<"batch_norm_backward", CastInfer, "inferBatchNormBackward", [ImageInterface, PlaceableInterface]> {
  let summary = "gradients of x, scale and bias of batch_norm";
  let shapes = "dy, x and dx [N, C, ...] or [N, ..., C]; all others [C]";
  let description = Dlc_BatchNormLaws # " (C4) dy has the type of x; (C5) `by` is open, library or decomposed.";
  let answers = Images<"0, 1", "0">.text # PlacedAs<"norm">.text;
  let assemblyFormat = Dlc_PlacedFormat;
  let example = [{%dx, %ds, %db = dlc.batch_norm_backward %dy, %x, %s, %s, %s {epsilon = 1.0e-05 : f64}
      : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$saved_mean,
      Dlc_Float:$saved_var, F64Attr:$epsilon, DefaultValuedStrAttr<StrAttr, "nchw">:$layout,
      Dlc_PlacedBy:$by);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dscale, Dlc_Float:$dbias);
}
def Dlc_BatchNormInferOp : Dlc_Pure<"batch_norm_infer", CastInfer, "inferBatchNormInfer", [ImageInterface]> {
  let summary = "batch norm by the running statistics; dlc-train-mode replaces the op by batch_norm";
  let shapes = "x and y [N, C, ...] or [N, ..., C]; all others [C]";
  let description = Dlc_BatchNormLaws;
  let example = [{%y = dlc.batch_norm_infer %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64}
      : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, Dlc_Float:$mean, Dlc_Float:$var,
      F64Attr:$epsilon, F64Attr:$momentum, DefaultValuedStrAttr<StrAttr, "nchw">:$layout);
  let results = (outs Dlc_Float:$y);
  let answers = Pins<"i > 0">.text # Images<"0", "0">.text;
}
def Dlc_LayerNormOp : Dlc_Pure<"layer_norm", CastInfer, "inferLayerNorm", [PlaceableInterface]> {
  let summary = "layer norm y = (x - mean) rstd scale + bias over the dimensions from `axis` on";
  let shapes = "x and y [R..., D...], D from the axis on; scale and bias [D...]; mean and rstd [R..., 1...]";
  let description = [{rstd = 1 / sqrt(population variance + epsilon). (C1) `axis` is in [0, rank of x); (C2) scale and bias have shape [D...];
    (C3) `by` is open, library or decomposed.}];
  let arguments = !con((ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, I64Attr:$axis, F64Attr:$epsilon),
      Dlc_Placed);
  let example = [{%y, %mean, %rstd = dlc.layer_norm %x, %scale, %bias {axis = 1 : i64, epsilon = 1.0e-05 : f64}
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)}];
  let results = (outs Dlc_Float:$y, Dlc_Float:$mean, Dlc_Float:$rstd);
  let answers = Pins<"i > 0", "i > 0">.text # PlacedAs<"norm">.text;
  let assemblyFormat = Dlc_PlacedFormat;
}
def Dlc_LayerNormBackwardOp : Dlc_Pure<"layer_norm_backward", CastInfer, "inferLayerNormBackward", [PlaceableInterface]> {
  let summary = "gradients of x, scale and bias of layer_norm";
  let shapes = "dy, x and dx [R..., D...]; scale, dscale and dbias [D...]; mean and rstd [R..., 1...]";
  let description = [{(C1) `axis` is in [0, rank of x); (C2) scale has shape [D...]; (C3) dy has the type of x;
    (C4) mean and rstd have shape [R..., 1...]; (C5) `by` is open, library or decomposed.}];
  let arguments = !con((ins Dlc_Float:$dy, Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$mean, Dlc_Float:$rstd,
      I64Attr:$axis), Dlc_Placed);
  let example = [{%dx, %ds, %db = dlc.layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64}
      : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
      -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)}];
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dscale, Dlc_Float:$dbias);
  let answers = PlacedAs<"norm">.text;
  let assemblyFormat = Dlc_PlacedFormat;
}
class Dlc_Softmax<string mnemonic, Dlc_Cast cast> : Dlc_Pure<mnemonic, cast, "inferSoftmax"> {
  let shapes = "y as x";
  let description = "Sum and maximum are over `axis`. (C1) `axis` is in [0, rank of x).";
  let arguments = (ins Dlc_Float:$x, I64Attr:$axis);
  let results = (outs Dlc_Float:$y);
}
def Dlc_SoftmaxOp : Dlc_Softmax<"softmax", CastInfer> {
  let summary = "softmax exp(x - max) / sum(exp(x - max))";
  let example = [{%y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
}
def Dlc_LogSoftmaxOp : Dlc_Softmax<"log_softmax", CastDeny> {
  let summary = "log-softmax x - max - log(sum(exp(x - max)))";
  let example = [{%y = dlc.log_softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
}
class Dlc_SoftmaxBackward<string mnemonic, Dlc_Cast cast> : Dlc_Pure<mnemonic, cast, "inferSoftmaxBackward"> {
  let shapes = "all alike";
  let description = "The sum is over `axis`; y is the forward op's result. (C1) `axis` is in [0, rank of dy); (C2) y has the type of dy.";
  let example = [{%y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$y, I64Attr:$axis);
  let results = (outs Dlc_Float:$dx);
}
def Dlc_SoftmaxBackwardOp : Dlc_SoftmaxBackward<"softmax_backward", CastInfer> {
  let summary = "gradient of softmax: y (dy - sum(dy y))";
  let example = [{%dx = dlc.softmax_backward %dy, %y {axis = 1 : i64}
      : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>}];
}
def Dlc_LogSoftmaxBackwardOp : Dlc_SoftmaxBackward<"log_softmax_backward", CastDeny> {
  let summary = "gradient of log_softmax: dy - exp(y) sum(dy)";
  let example = [{%dx = dlc.log_softmax_backward %dy, %y {axis = 0 : i64}
      : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>}];
}
#endif
