// RUN: dlc-gradcheck %s
// Normalisation and softmax along every axis; half floats keep their types.

func.func @batch_norm(%x: tensor<2x3x2x2xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64> {dlc.range = [0.5, 2.0]}) -> tensor<2x3x2x2xf64> {
  %y, %nm, %nv, %sm, %sv = dlc.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64, unbiased} : (tensor<2x3x2x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<2x3x2x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %y : tensor<2x3x2x2xf64>
}

func.func @batch_norm_rank2(%x: tensor<5x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64> {dlc.range = [0.5, 2.0]}) -> tensor<5x3xf64> {
  %y, %nm, %nv, %sm, %sv = dlc.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64, unbiased} : (tensor<5x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<5x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>)
  return %y : tensor<5x3xf64>
}

func.func @batch_norm_nhwc(%x: tensor<2x2x3x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>, %m: tensor<2xf64>, %v: tensor<2xf64> {dlc.range = [0.5, 2.0]}) -> tensor<2x2x3x2xf64> {
  %y, %nm, %nv, %sm, %sv = dlc.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64, unbiased, layout = "nhwc"} : (tensor<2x2x3x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x3x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)
  return %y : tensor<2x2x3x2xf64>
}

func.func @batch_norm_bf16(%x: tensor<2x3x2x2xbf16>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32> {dlc.range = [0.5, 2.0]}) -> tensor<2x3x2x2xbf16> {
  %y, %nm, %nv, %sm, %sv = dlc.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64, unbiased} : (tensor<2x3x2x2xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x2x2xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y : tensor<2x3x2x2xbf16>
}

func.func @batch_norm_infer(%x: tensor<2x3x2x2xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64> {dlc.range = [0.5, 2.0]}) -> tensor<2x3x2x2xf64> {
  %y = dlc.batch_norm_infer %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64} : (tensor<2x3x2x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3x2x2xf64>
  return %y : tensor<2x3x2x2xf64>
}

func.func @batch_norm_infer_rank2(%x: tensor<4x3xf64>, %s: tensor<3xf64>, %b: tensor<3xf64>, %m: tensor<3xf64>, %v: tensor<3xf64> {dlc.range = [0.5, 2.0]}) -> tensor<4x3xf64> {
  %y = dlc.batch_norm_infer %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64} : (tensor<4x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<4x3xf64>
  return %y : tensor<4x3xf64>
}

func.func @batch_norm_infer_nhwc(%x: tensor<2x2x3x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>, %m: tensor<2xf64>, %v: tensor<2xf64> {dlc.range = [0.5, 2.0]}) -> tensor<2x2x3x2xf64> {
  %y = dlc.batch_norm_infer %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64, layout = "nhwc"} : (tensor<2x2x3x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x3x2xf64>
  return %y : tensor<2x2x3x2xf64>
}

func.func @batch_norm_infer_bf16(%x: tensor<2x3x2x2xbf16>, %s: tensor<3xf32>, %b: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32> {dlc.range = [0.5, 2.0]}) -> tensor<2x3x2x2xbf16> {
  %y = dlc.batch_norm_infer %x, %s, %b, %m, %v {epsilon = 1.0e-3 : f64, momentum = 0.9 : f64} : (tensor<2x3x2x2xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2x2xbf16>
  return %y : tensor<2x3x2x2xbf16>
}

func.func @layer_norm(%x: tensor<3x5xf64>, %s: tensor<5xf64>, %b: tensor<5xf64>) -> tensor<3x5xf64> {
  %y, %m, %r = dlc.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<3x5xf64>, tensor<5xf64>, tensor<5xf64>) -> (tensor<3x5xf64>, tensor<3x1xf64>, tensor<3x1xf64>)
  return %y : tensor<3x5xf64>
}

func.func @layer_norm_inner2(%x: tensor<2x3x4xf64>, %s: tensor<3x4xf64>, %b: tensor<3x4xf64>) -> tensor<2x3x4xf64> {
  %y, %m, %r = dlc.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>) -> (tensor<2x3x4xf64>, tensor<2x1x1xf64>, tensor<2x1x1xf64>)
  return %y : tensor<2x3x4xf64>
}

func.func @layer_norm_last(%x: tensor<2x3x4xf64>, %s: tensor<4xf64>, %b: tensor<4xf64>) -> tensor<2x3x4xf64> {
  %y, %m, %r = dlc.layer_norm %x, %s, %b {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3x4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<2x3x4xf64>, tensor<2x3x1xf64>, tensor<2x3x1xf64>)
  return %y : tensor<2x3x4xf64>
}

func.func @layer_norm_whole(%x: tensor<3x4xf64>, %s: tensor<3x4xf64>, %b: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y, %m, %r = dlc.layer_norm %x, %s, %b {axis = 0 : i64, epsilon = 1.0e-5 : f64} : (tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>) -> (tensor<3x4xf64>, tensor<1x1xf64>, tensor<1x1xf64>)
  return %y : tensor<3x4xf64>
}

func.func @layer_norm_bf16(%x: tensor<2x3x4xbf16>, %s: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xbf16> {
  %y, %m, %r = dlc.layer_norm %x, %s, %b {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3x4xbf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xbf16>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
  return %y : tensor<2x3x4xbf16>
}

func.func @softmax_0(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.softmax %x {axis = 0 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @softmax_1(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @softmax_2(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.softmax %x {axis = 2 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @softmax_large(%x: tensor<2x3xf64> {dlc.range = [990.0, 1010.0]}) -> tensor<2x3xf64> {
  %y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @softmax_bf16(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return %y : tensor<2x3xbf16>
}

func.func @log_softmax_0(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.log_softmax %x {axis = 0 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @log_softmax_1(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.log_softmax %x {axis = 1 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @log_softmax_2(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.log_softmax %x {axis = 2 : i64} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @log_softmax_large(%x: tensor<2x3xf64> {dlc.range = [990.0, 1010.0]}) -> tensor<2x3xf64> {
  %y = dlc.log_softmax %x {axis = 1 : i64} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @log_softmax_bf16(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %y = dlc.log_softmax %x {axis = 1 : i64} : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return %y : tensor<2x3xbf16>
}
