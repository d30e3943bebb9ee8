// RUN: dlc-gradcheck %s
// Losses.

func.func @cross_entropy(%x: tensor<4x5xf64>, %t: tensor<4xi64> {dlc.below = 5 : i64}) -> tensor<4xf64> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %t : (tensor<4x5xf64>, tensor<4xi64>) -> (tensor<4xf64>, tensor<4xf64>)
  return %loss : tensor<4xf64>
}

func.func @cross_entropy_ignored(%x: tensor<4x3xf64>, %t: tensor<4xi64> {dlc.value = dense<[0, -100, 2, -100]> : tensor<4xi64>}) -> tensor<4xf64> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %t {ignore_index = -100 : i64} : (tensor<4x3xf64>, tensor<4xi64>) -> (tensor<4xf64>, tensor<4xf64>)
  return %loss : tensor<4xf64>
}

func.func @cross_entropy_ignored_class(%x: tensor<4x3xf64>, %t: tensor<4xi64> {dlc.value = dense<[0, 1, 2, 1]> : tensor<4xi64>}) -> tensor<4xf64> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %t {ignore_index = 1 : i64} : (tensor<4x3xf64>, tensor<4xi64>) -> (tensor<4xf64>, tensor<4xf64>)
  return %loss : tensor<4xf64>
}

func.func @cross_entropy_bf16(%x: tensor<3x4xbf16>, %t: tensor<3xi64> {dlc.below = 4 : i64}) -> tensor<3xbf16> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %t : (tensor<3x4xbf16>, tensor<3xi64>) -> (tensor<3xbf16>, tensor<3xbf16>)
  return %loss : tensor<3xbf16>
}

func.func @cross_entropy_one_class(%x: tensor<3x1xf64>, %t: tensor<3xi64> {dlc.below = 1 : i64}) -> tensor<3xf64> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %t : (tensor<3x1xf64>, tensor<3xi64>) -> (tensor<3xf64>, tensor<3xf64>)
  return %loss : tensor<3xf64>
}

// both results carry a gradient
func.func @log_sum_exp(%x: tensor<3x4xf64>, %t: tensor<3xi64> {dlc.below = 4 : i64}) -> (tensor<3xf64>, tensor<3xf64>) {
  %loss, %lse = dlc.softmax_cross_entropy %x, %t : (tensor<3x4xf64>, tensor<3xi64>) -> (tensor<3xf64>, tensor<3xf64>)
  return %loss, %lse : tensor<3xf64>, tensor<3xf64>
}

func.func @log_sum_exp_alone(%x: tensor<3x4xf64>, %t: tensor<3xi64> {dlc.below = 4 : i64}) -> tensor<3xf64> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %t : (tensor<3x4xf64>, tensor<3xi64>) -> (tensor<3xf64>, tensor<3xf64>)
  return %lse : tensor<3xf64>
}

func.func @squared_error(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> tensor<f64> {
  %d = dlc.sub %x, %y : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  %s = dlc.mul %d, %d : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  %l = dlc.reduce_mean %s {axes = array<i64: 0, 1>} : (tensor<2x3xf64>) -> tensor<f64>
  return %l : tensor<f64>
}
