// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @shape(%x: tensor<2x3xf32>, %i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  %constant = dlc.constant dense<1.000000e+00> : tensor<2xf32>
  %iota = dlc.iota {axis = 1 : i64} : () -> tensor<2x3xi64>
  %reshape = dlc.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %transpose = dlc.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %broadcast = dlc.broadcast %x : (tensor<2x3xf32>) -> tensor<5x2x3xf32>
  %slice = dlc.slice %x {sizes = array<i64: 1, 2>, starts = array<i64: 1, 2>, steps = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<1x2xf32>
  %pad = dlc.pad %x {high = array<i64: 0, 1>, interior = array<i64: 1, 0>, low = array<i64: 1, 0>, value = 0.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<4x4xf32>
  %concat = dlc.concat %x, %x {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %gather = dlc.gather %x, %i by = generated {axis = 0 : i64, padding = 1 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %scatter_add = dlc.scatter_add %i, %u by = decomposed {axis = 0 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %rows, %sums = dlc.unique_rows %i, %u {ranks = 2 : i64, size = 2 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> (tensor<4xi64>, tensor<4x3xf32>)
  %put = dlc.put_rows %x, %rows, %sums : (tensor<2x3xf32>, tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}
