// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @random(%x: tensor<2x3xf32>, %draw: tensor<i64>, %key: tensor<i64>) {
  %dropout = dlc.dropout %x {id = "a", ratio = 5.000000e-01 : f64, shared = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %noise = dlc.noise {id = "b", normal} : () -> tensor<2x3xf32>
  %position = dlc.position : () -> tensor<2x3xi64>
  %u, %v = dlc.uniform %position, %draw, %key : (tensor<2x3xi64>, tensor<i64>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}
