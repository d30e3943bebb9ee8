// RUN: dlc-gradcheck %s
// Reductions over every choice of axes.

func.func @reduce_sum_first(%x: tensor<2x3x4xf64>) -> tensor<3x4xf64> {
  %y = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<2x3x4xf64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}

func.func @reduce_sum_middle(%x: tensor<2x3x4xf64>) -> tensor<2x4xf64> {
  %y = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<2x3x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @reduce_sum_middle_kept(%x: tensor<2x3x4xf64>) -> tensor<2x1x4xf64> {
  %y = dlc.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @reduce_sum_last(%x: tensor<2x3x4xf64>) -> tensor<2x3xf64> {
  %y = dlc.reduce_sum %x {axes = array<i64: 2>} : (tensor<2x3x4xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @reduce_sum_last_kept(%x: tensor<2x3x4xf64>) -> tensor<2x3x1xf64> {
  %y = dlc.reduce_sum %x {axes = array<i64: 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<2x3x1xf64>
  return %y : tensor<2x3x1xf64>
}

func.func @reduce_sum_outer(%x: tensor<2x3x4xf64>) -> tensor<3xf64> {
  %y = dlc.reduce_sum %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @reduce_sum_outer_kept(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %y = dlc.reduce_sum %x {axes = array<i64: 0, 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %y : tensor<1x3x1xf64>
}

func.func @reduce_sum_all(%x: tensor<2x3x4xf64>) -> tensor<f64> {
  %y = dlc.reduce_sum %x {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_sum_all_kept(%x: tensor<2x3x4xf64>) -> tensor<1x1x1xf64> {
  %y = dlc.reduce_sum %x {axes = array<i64: 0, 1, 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<1x1x1xf64>
  return %y : tensor<1x1x1xf64>
}

func.func @reduce_sum_none(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.reduce_sum %x {axes = array<i64>} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @reduce_mean_first(%x: tensor<2x3x4xf64>) -> tensor<3x4xf64> {
  %y = dlc.reduce_mean %x {axes = array<i64: 0>} : (tensor<2x3x4xf64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}

func.func @reduce_mean_middle(%x: tensor<2x3x4xf64>) -> tensor<2x4xf64> {
  %y = dlc.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x3x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @reduce_mean_middle_kept(%x: tensor<2x3x4xf64>) -> tensor<2x1x4xf64> {
  %y = dlc.reduce_mean %x {axes = array<i64: 1>, keepdims} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @reduce_mean_last(%x: tensor<2x3x4xf64>) -> tensor<2x3xf64> {
  %y = dlc.reduce_mean %x {axes = array<i64: 2>} : (tensor<2x3x4xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @reduce_mean_last_kept(%x: tensor<2x3x4xf64>) -> tensor<2x3x1xf64> {
  %y = dlc.reduce_mean %x {axes = array<i64: 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<2x3x1xf64>
  return %y : tensor<2x3x1xf64>
}

func.func @reduce_mean_outer(%x: tensor<2x3x4xf64>) -> tensor<3xf64> {
  %y = dlc.reduce_mean %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @reduce_mean_outer_kept(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %y = dlc.reduce_mean %x {axes = array<i64: 0, 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %y : tensor<1x3x1xf64>
}

func.func @reduce_mean_all(%x: tensor<2x3x4xf64>) -> tensor<f64> {
  %y = dlc.reduce_mean %x {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_mean_all_kept(%x: tensor<2x3x4xf64>) -> tensor<1x1x1xf64> {
  %y = dlc.reduce_mean %x {axes = array<i64: 0, 1, 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<1x1x1xf64>
  return %y : tensor<1x1x1xf64>
}

func.func @reduce_mean_none(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.reduce_mean %x {axes = array<i64>} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @reduce_max_first(%x: tensor<2x3x4xf64>) -> tensor<3x4xf64> {
  %y = dlc.reduce_max %x {axes = array<i64: 0>} : (tensor<2x3x4xf64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}

func.func @reduce_max_middle(%x: tensor<2x3x4xf64>) -> tensor<2x4xf64> {
  %y = dlc.reduce_max %x {axes = array<i64: 1>} : (tensor<2x3x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @reduce_max_middle_kept(%x: tensor<2x3x4xf64>) -> tensor<2x1x4xf64> {
  %y = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @reduce_max_last(%x: tensor<2x3x4xf64>) -> tensor<2x3xf64> {
  %y = dlc.reduce_max %x {axes = array<i64: 2>} : (tensor<2x3x4xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @reduce_max_last_kept(%x: tensor<2x3x4xf64>) -> tensor<2x3x1xf64> {
  %y = dlc.reduce_max %x {axes = array<i64: 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<2x3x1xf64>
  return %y : tensor<2x3x1xf64>
}

func.func @reduce_max_outer(%x: tensor<2x3x4xf64>) -> tensor<3xf64> {
  %y = dlc.reduce_max %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @reduce_max_outer_kept(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %y = dlc.reduce_max %x {axes = array<i64: 0, 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %y : tensor<1x3x1xf64>
}

func.func @reduce_max_all(%x: tensor<2x3x4xf64>) -> tensor<f64> {
  %y = dlc.reduce_max %x {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_max_all_kept(%x: tensor<2x3x4xf64>) -> tensor<1x1x1xf64> {
  %y = dlc.reduce_max %x {axes = array<i64: 0, 1, 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<1x1x1xf64>
  return %y : tensor<1x1x1xf64>
}

func.func @reduce_max_none(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.reduce_max %x {axes = array<i64>} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @reduce_min_first(%x: tensor<2x3x4xf64>) -> tensor<3x4xf64> {
  %y = dlc.reduce_min %x {axes = array<i64: 0>} : (tensor<2x3x4xf64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}

func.func @reduce_min_middle(%x: tensor<2x3x4xf64>) -> tensor<2x4xf64> {
  %y = dlc.reduce_min %x {axes = array<i64: 1>} : (tensor<2x3x4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @reduce_min_middle_kept(%x: tensor<2x3x4xf64>) -> tensor<2x1x4xf64> {
  %y = dlc.reduce_min %x {axes = array<i64: 1>, keepdims} : (tensor<2x3x4xf64>) -> tensor<2x1x4xf64>
  return %y : tensor<2x1x4xf64>
}

func.func @reduce_min_last(%x: tensor<2x3x4xf64>) -> tensor<2x3xf64> {
  %y = dlc.reduce_min %x {axes = array<i64: 2>} : (tensor<2x3x4xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @reduce_min_last_kept(%x: tensor<2x3x4xf64>) -> tensor<2x3x1xf64> {
  %y = dlc.reduce_min %x {axes = array<i64: 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<2x3x1xf64>
  return %y : tensor<2x3x1xf64>
}

func.func @reduce_min_outer(%x: tensor<2x3x4xf64>) -> tensor<3xf64> {
  %y = dlc.reduce_min %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @reduce_min_outer_kept(%x: tensor<2x3x4xf64>) -> tensor<1x3x1xf64> {
  %y = dlc.reduce_min %x {axes = array<i64: 0, 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<1x3x1xf64>
  return %y : tensor<1x3x1xf64>
}

func.func @reduce_min_all(%x: tensor<2x3x4xf64>) -> tensor<f64> {
  %y = dlc.reduce_min %x {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_min_all_kept(%x: tensor<2x3x4xf64>) -> tensor<1x1x1xf64> {
  %y = dlc.reduce_min %x {axes = array<i64: 0, 1, 2>, keepdims} : (tensor<2x3x4xf64>) -> tensor<1x1x1xf64>
  return %y : tensor<1x1x1xf64>
}

func.func @reduce_min_none(%x: tensor<2x3x4xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.reduce_min %x {axes = array<i64>} : (tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @reduce_mean_bf16(%x: tensor<2x3x4xbf16>) -> tensor<2x4xbf16> {
  %y = dlc.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x3x4xbf16>) -> tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}

func.func @argmax_gate(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %i = dlc.argmax %x {axes = array<i64: 1>, keepdims} : (tensor<2x3xf64>) -> tensor<2x1xi64>
  %f = dlc.cast %i : (tensor<2x1xi64>) -> tensor<2x1xf64>
  %y = dlc.add %f, %x : (tensor<2x1xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
