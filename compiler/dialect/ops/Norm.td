// SPDX-License-Identifier: Apache-2.0
// Normalisation and softmax. Statistics, scales and biases are f32 whatever the precision of x.
#ifndef DLC_NORM
#define DLC_NORM
include "DlcBase.td"

defvar Dlc_BatchNormLaws = [{(C1) x has rank 2 or more; (C2) there is one value a channel in all others; (C3) the layout is
    nchw or nhwc.}];

def Dlc_BatchNormOp : Dlc_Library<"batch_norm", CastInfer, "inferBatchNorm", [ImageInterface, PlaceableInterface]> {
  let summary = "training batch norm: normalises by the batch and updates the running statistics";
  let shapes = "x and y [N, C, ...] or, channels last, [N, ..., C]; all others [C]";
  let description = !strconcat([{new = old * momentum + batch * (1 - momentum). With `unbiased` the running variance gets
    batch_var * N / (N - 1), as frameworks do; without, the population variance, as ONNX says.
    saved_var is the population variance.
    }], Dlc_BatchNormLaws, " (C4) It is by library or decomposed.");
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
  let summary = "gradients of batch_norm's x, scale and bias";
  let shapes = "dy, x and dx [N, C, ...] or [N, ..., C]; all others [C]";
  let description = Dlc_BatchNormLaws # " (C4) dy has x's type; (C5) it is by library or decomposed.";
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
  let summary = "batch norm by given statistics; train mode turns it into batch_norm";
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
  let summary = "normalisation over the dimensions from `axis` on";
  let shapes = "x and y [R..., D...], D from the axis on; scale and bias [D...]; mean and rstd [R..., 1...]";
  let description = [{(C1) the axis is within x's rank; (C2) scale and bias have x's dimensions from it on; (C3) it is by
    library or decomposed.}];
  let arguments = !con((ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, I64Attr:$axis, F64Attr:$epsilon),
      Dlc_Placed);
  let example = [{%y, %mean, %rstd = dlc.layer_norm %x, %scale, %bias {axis = 1 : i64, epsilon = 1.0e-05 : f64}
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)}];
  let results = (outs Dlc_Float:$y, Dlc_Float:$mean, Dlc_Float:$rstd);
  let answers = Pins<"i > 0", "i > 0">.text # PlacedAs<"norm">.text;
  let assemblyFormat = Dlc_PlacedFormat;
}
def Dlc_LayerNormBackwardOp : Dlc_Pure<"layer_norm_backward", CastInfer, "inferLayerNormBackward", [PlaceableInterface]> {
  let summary = "gradients of layer_norm's x, scale and bias";
  let shapes = "dy, x and dx [R..., D...]; scale, dscale and dbias [D...]; mean and rstd [R..., 1...]";
  let description = [{(C1) the axis is within x's rank; (C2) scale has x's dimensions from it on; (C3) dy has x's type;
    (C4) mean and rstd have x's shape with 1 from the axis on; (C5) it is by library or decomposed.}];
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
  let description = "(C1) the axis is within x's rank.";
  let arguments = (ins Dlc_Float:$x, I64Attr:$axis);
  let results = (outs Dlc_Float:$y);
}
def Dlc_SoftmaxOp : Dlc_Softmax<"softmax", CastInfer> {
  let summary = "exp(x - max) / sum";
  let example = [{%y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
}
def Dlc_LogSoftmaxOp : Dlc_Softmax<"log_softmax", CastDeny> {
  let summary = "x - max - log(sum(exp(x - max)))";
  let example = [{%y = dlc.log_softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
}
class Dlc_SoftmaxBackward<string mnemonic, Dlc_Cast cast> : Dlc_Pure<mnemonic, cast, "inferSoftmaxBackward"> {
  let shapes = "all alike";
  let description = "(C1) the axis is within dy's rank; (C2) y has dy's type.";
  let example = [{%y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>}];
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$y, I64Attr:$axis);
  let results = (outs Dlc_Float:$dx);
}
def Dlc_SoftmaxBackwardOp : Dlc_SoftmaxBackward<"softmax_backward", CastInfer> {
  let summary = "y * (dy - sum(dy * y))";
  let example = [{%dx = dlc.softmax_backward %dy, %y {axis = 1 : i64}
      : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>}];
}
def Dlc_LogSoftmaxBackwardOp : Dlc_SoftmaxBackward<"log_softmax_backward", CastDeny> {
  let summary = "dy - exp(y) * sum(dy)";
  let example = [{%dx = dlc.log_softmax_backward %dy, %y {axis = 0 : i64}
      : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>}];
}
#endif
