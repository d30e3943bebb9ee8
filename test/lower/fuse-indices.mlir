// RUN: %dlc-opt %s --dlc-fuse | FileCheck %s
// A kernel's addresses may read indices from memory, through moves that are one read, but not by another gather, nor
// choose among places.

// CHECK-LABEL: func @sliced
// CHECK: dlc.fused
// CHECK: dlc.slice
// CHECK: dlc.gather
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @sliced(%table: tensor<8x4xf32>, %all: tensor<6xi64>) -> tensor<4x4xf32> {
  %some = dlc.slice %all {sizes = array<i64: 4>, starts = array<i64: 1>, steps = array<i64: 1>} : (tensor<6xi64>) -> tensor<4xi64>
  %rows = dlc.gather %table, %some by = generated {axis = 0 : i64} : (tensor<8x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  %y = dlc.exp %rows : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// CHECK-LABEL: func @gathered
// CHECK: dlc.fused
// CHECK: dlc.gather
// CHECK: dlc.fused
// CHECK: dlc.gather
// CHECK: dlc.exp
func.func @gathered(%table: tensor<8x4xf32>, %kinds: tensor<9xi64>, %at: tensor<4xi64>) -> tensor<4x4xf32> {
  %kind = dlc.gather %kinds, %at by = generated {axis = 0 : i64} : (tensor<9xi64>, tensor<4xi64>) -> tensor<4xi64>
  %rows = dlc.gather %table, %kind by = generated {axis = 0 : i64} : (tensor<8x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  %y = dlc.exp %rows : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// CHECK-LABEL: func @joined
// CHECK: dlc.fused
// CHECK: dlc.concat
// CHECK: dlc.fused
// CHECK: dlc.gather
// CHECK: dlc.exp
func.func @joined(%table: tensor<8x4xf32>, %a: tensor<2xi64>, %b: tensor<2xi64>) -> tensor<4x4xf32> {
  %both = dlc.concat %a, %b {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %rows = dlc.gather %table, %both by = generated {axis = 0 : i64} : (tensor<8x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  %y = dlc.exp %rows : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// What chooses the index and what masks the row read one comparison, and are two kernels all the same.
// CHECK-LABEL: func @masked
// CHECK: dlc.fused
// CHECK: dlc.select
// CHECK: dlc.fused
// CHECK: dlc.gather
// CHECK: dlc.select
func.func @masked(%table: tensor<5xf32>, %labels: tensor<4xi64>) -> tensor<4xf32> {
  %none = dlc.constant dense<1> : tensor<i64>
  %first = dlc.constant dense<0> : tensor<i64>
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %ignored = dlc.compare eq %labels, %none : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
  %at = dlc.select %ignored, %first, %labels : (tensor<4xi1>, tensor<i64>, tensor<4xi64>) -> tensor<4xi64>
  %w = dlc.gather %table, %at by = generated {axis = 0 : i64} : (tensor<5xf32>, tensor<4xi64>) -> tensor<4xf32>
  %y = dlc.select %ignored, %zero, %w : (tensor<4xi1>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
