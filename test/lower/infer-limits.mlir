// RUN: %dlc-opt %s --dlc-infer-limits | FileCheck %s

// An input that indexes two tables, through a view, is bound by the smaller one along its axis.
// CHECK: func @gather(%arg0: tensor<2x3xi64> {dlc.from_end, dlc.limit = 5 : i64}, %arg1: tensor<7x4xf32>, %arg2: tensor<4x5xf32>)
func.func @gather(%i: tensor<2x3xi64>, %a: tensor<7x4xf32>, %b: tensor<4x5xf32>) -> (tensor<2x3x4xf32>, tensor<4x6xf32>) {
  %0 = dlc.gather %a, %i {axis = 0 : i64} : (tensor<7x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %v = dlc.reshape %i : (tensor<2x3xi64>) -> tensor<6xi64>
  %1 = dlc.gather %b, %v {axis = 1 : i64} : (tensor<4x5xf32>, tensor<6xi64>) -> tensor<4x6xf32>
  return %0, %1 : tensor<2x3x4xf32>, tensor<4x6xf32>
}

// Labels are bound by the classes; other attributes of the argument stay.
// CHECK: func @labels(%arg0: tensor<4x10xf32>, %arg1: tensor<4xi64> {dlc.limit = 10 : i64, dlc.name = "y"})
func.func @labels(%x: tensor<4x10xf32>, %y: tensor<4xi64> {dlc.name = "y"}) -> tensor<4xf32> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %y : (tensor<4x10xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  return %loss : tensor<4xf32>
}

// With an ignored class any number may stand there; floats and plain integers index nothing.
// CHECK: func @unbounded(%arg0: tensor<4x10xf32>, %arg1: tensor<4xi64>, %arg2: tensor<4xi64>)
func.func @unbounded(%x: tensor<4x10xf32>, %y: tensor<4xi64>, %n: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  %loss, %lse = dlc.softmax_cross_entropy %x, %y {ignore_index = -100 : i64} : (tensor<4x10xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  %m = dlc.neg %n : (tensor<4xi64>) -> tensor<4xi64>
  return %loss, %m : tensor<4xf32>, tensor<4xi64>
}

// Integers that are looked up index nothing.
// CHECK: func @table(%arg0: tensor<9xi64>, %arg1: tensor<4xi64> {dlc.from_end, dlc.limit = 9 : i64})
func.func @table(%t: tensor<9xi64>, %i: tensor<4xi64>) -> tensor<4xi64> {
  %y = dlc.gather %t, %i {axis = 0 : i64} : (tensor<9xi64>, tensor<4xi64>) -> tensor<4xi64>
  return %y : tensor<4xi64>
}

// Negative numbers are no labels, whatever they are besides.
// CHECK: func @both(%arg0: tensor<4x10xf32>, %arg1: tensor<4xi64> {dlc.limit = 9 : i64}, %arg2: tensor<9xf32>)
func.func @both(%x: tensor<4x10xf32>, %y: tensor<4xi64>, %t: tensor<9xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %loss, %lse = dlc.softmax_cross_entropy %x, %y : (tensor<4x10xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  %w = dlc.gather %t, %y {axis = 0 : i64} : (tensor<9xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %loss, %w : tensor<4xf32>, tensor<4xf32>
}
