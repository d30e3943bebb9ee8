// RUN: dlc-gradcheck %s
// Reductions that are large enough for two stages.

func.func @reduce_sum_leading(%k: tensor<f64>, %x: tensor<64x2x640xf64>) -> tensor<f64> {
  %z = dlc.mul %x, %k : (tensor<64x2x640xf64>, tensor<f64>) -> tensor<64x2x640xf64>
  %y = dlc.reduce_sum %z {axes = array<i64: 0, 1, 2>} : (tensor<64x2x640xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_mean_leading(%k: tensor<f64>, %x: tensor<64x2x640xf64>) -> tensor<f64> {
  %z = dlc.mul %x, %k : (tensor<64x2x640xf64>, tensor<f64>) -> tensor<64x2x640xf64>
  %y = dlc.reduce_mean %z {axes = array<i64: 0, 1, 2>} : (tensor<64x2x640xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_max_leading(%k: tensor<f64>, %x: tensor<64x2x640xf64>) -> tensor<f64> {
  %z = dlc.mul %x, %k : (tensor<64x2x640xf64>, tensor<f64>) -> tensor<64x2x640xf64>
  %y = dlc.reduce_max %z {axes = array<i64: 0, 1, 2>} : (tensor<64x2x640xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_sum_flat(%k: tensor<f64>, %x: tensor<81920xf64>) -> tensor<f64> {
  %z = dlc.mul %x, %k : (tensor<81920xf64>, tensor<f64>) -> tensor<81920xf64>
  %y = dlc.reduce_sum %z {axes = array<i64: 0>} : (tensor<81920xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_mean_flat(%k: tensor<f64>, %x: tensor<81920xf64>) -> tensor<f64> {
  %z = dlc.mul %x, %k : (tensor<81920xf64>, tensor<f64>) -> tensor<81920xf64>
  %y = dlc.reduce_mean %z {axes = array<i64: 0>} : (tensor<81920xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_max_flat(%k: tensor<f64>, %x: tensor<81920xf64>) -> tensor<f64> {
  %z = dlc.mul %x, %k : (tensor<81920xf64>, tensor<f64>) -> tensor<81920xf64>
  %y = dlc.reduce_max %z {axes = array<i64: 0>} : (tensor<81920xf64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @reduce_sum_kept(%k: tensor<f64>, %x: tensor<32x4x1024xf64>) -> tensor<4xf64> {
  %z = dlc.mul %x, %k : (tensor<32x4x1024xf64>, tensor<f64>) -> tensor<32x4x1024xf64>
  %y = dlc.reduce_sum %z {axes = array<i64: 0, 2>} : (tensor<32x4x1024xf64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}

func.func @reduce_mean_kept(%k: tensor<f64>, %x: tensor<32x4x1024xf64>) -> tensor<4xf64> {
  %z = dlc.mul %x, %k : (tensor<32x4x1024xf64>, tensor<f64>) -> tensor<32x4x1024xf64>
  %y = dlc.reduce_mean %z {axes = array<i64: 0, 2>} : (tensor<32x4x1024xf64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}

func.func @reduce_max_kept(%k: tensor<f64>, %x: tensor<32x4x1024xf64>) -> tensor<4xf64> {
  %z = dlc.mul %x, %k : (tensor<32x4x1024xf64>, tensor<f64>) -> tensor<32x4x1024xf64>
  %y = dlc.reduce_max %z {axes = array<i64: 0, 2>} : (tensor<32x4x1024xf64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}
