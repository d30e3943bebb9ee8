// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @reduce(%x: tensor<2x3xf32>) {
  %sum = dlc.reduce_sum %x {axes = array<i64: 0, 1>, keepdims} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  %mean = dlc.reduce_mean %x {axes = array<i64: 0, 1>, keepdims} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  %max = dlc.reduce_max %x {axes = array<i64: 0, 1>, keepdims} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  %min = dlc.reduce_min %x {axes = array<i64: 0, 1>, keepdims} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  %argmax = dlc.argmax %x {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}
