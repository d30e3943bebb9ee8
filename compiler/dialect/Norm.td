// Normalisation and softmax. Statistics, scales and biases are f32 whatever the precision of x.
#ifndef DLC_NORM
#define DLC_NORM
include "DlcBase.td"

def Dlc_BatchNormOp : Dlc_Library<"batch_norm", CastInfer, "inferBatchNorm"> {
  let summary = "training batch norm: normalises by the batch and moves the running statistics";
  let description = [{new = old * momentum + batch * (1 - momentum). With `unbiased` the running variance gets
    batch_var * N / (N - 1), as frameworks do; without, the population variance, as ONNX says.
    saved_var is the population variance.}];
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, Dlc_Float:$mean, Dlc_Float:$var,
      F64Attr:$epsilon, F64Attr:$momentum, UnitAttr:$unbiased,
      DefaultValuedStrAttr<StrAttr, "nchw">:$layout);
  let results = (outs Dlc_Float:$y, Dlc_Float:$new_mean, Dlc_Float:$new_var,
      Dlc_Float:$saved_mean, Dlc_Float:$saved_var);
  let declarations = "static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r);\n"
      # "bool pinsOperand(unsigned i) { return i > 0; }\nbool pinsResult(unsigned i) { return i > 0; }\n";
}
def Dlc_BatchNormBackwardOp : Dlc_Library<"batch_norm_backward", CastInfer, "inferBatchNormBackward"> {
  let summary = "gradients of batch_norm's x, scale and bias";
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$saved_mean,
      Dlc_Float:$saved_var, F64Attr:$epsilon, DefaultValuedStrAttr<StrAttr, "nchw">:$layout);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dscale, Dlc_Float:$dbias);
}
def Dlc_BatchNormInferOp : Dlc_Pure<"batch_norm_infer", CastInfer, "inferBatchNormInfer"> {
  let summary = "batch norm by given statistics; train mode turns it into batch_norm";
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, Dlc_Float:$mean, Dlc_Float:$var,
      F64Attr:$epsilon, F64Attr:$momentum, DefaultValuedStrAttr<StrAttr, "nchw">:$layout);
  let results = (outs Dlc_Float:$y);
  let declarations = "static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r);\n"
      # "bool pinsOperand(unsigned i) { return i > 0; }\n";
}
def Dlc_LayerNormOp : Dlc_Pure<"layer_norm", CastInfer, "inferLayerNorm"> {
  let summary = "normalisation over the dimensions from `axis` on";
  let arguments = (ins Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$bias, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Dlc_Float:$y, Dlc_Float:$mean, Dlc_Float:$rstd);
  let declarations = "static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r);\n"
      # "bool pinsOperand(unsigned i) { return i > 0; }\nbool pinsResult(unsigned i) { return i > 0; }\n";
}
def Dlc_LayerNormBackwardOp : Dlc_Pure<"layer_norm_backward", CastInfer, "inferLayerNormBackward"> {
  let summary = "gradients of layer_norm's x, scale and bias";
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$x, Dlc_Float:$scale, Dlc_Float:$mean, Dlc_Float:$rstd,
      I64Attr:$axis);
  let results = (outs Dlc_Float:$dx, Dlc_Float:$dscale, Dlc_Float:$dbias);
}
class Dlc_Softmax<string mnemonic, Dlc_Cast cast> : Dlc_Pure<mnemonic, cast, "inferSameAsFirst"> {
  let arguments = (ins Dlc_Float:$x, I64Attr:$axis);
  let results = (outs Dlc_Float:$y);
}
def Dlc_SoftmaxOp : Dlc_Softmax<"softmax", CastInfer> { let summary = "exp(x - max) / sum"; }
def Dlc_LogSoftmaxOp : Dlc_Softmax<"log_softmax", CastDeny> { let summary = "x - max - log(sum(exp(x - max)))"; }
class Dlc_SoftmaxBackward<string mnemonic, Dlc_Cast cast> : Dlc_Pure<mnemonic, cast, "inferSameAsFirst"> {
  let arguments = (ins Dlc_Float:$dy, Dlc_Float:$y, I64Attr:$axis);
  let results = (outs Dlc_Float:$dx);
}
def Dlc_SoftmaxBackwardOp : Dlc_SoftmaxBackward<"softmax_backward", CastInfer> {
  let summary = "y * (dy - sum(dy * y))";
}
def Dlc_LogSoftmaxBackwardOp : Dlc_SoftmaxBackward<"log_softmax_backward", CastDeny> {
  let summary = "dy - exp(y) * sum(dy)";
}
#endif
