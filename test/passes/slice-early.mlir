// RUN: %dlc-opt %s --dlc-slice-early | FileCheck %s

// The norm, the linear layers and the residual sum in front of a classifier are computed for the first token alone, as far as
// each token is by itself.
// CHECK-LABEL: func @first_token
// CHECK-NEXT: [[X:%.*]] = dlc.slice %arg0 {sizes = array<i64: 4, 1, 8>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>}
// CHECK-NEXT: [[H:%.*]] = dlc.matmul [[X]], %arg1, %arg2 : (tensor<4x1x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x1x8xf32>
// CHECK-NEXT: [[G:%.*]] = dlc.gelu [[H]]
// CHECK-NEXT: [[S:%.*]] = dlc.add [[X]], [[G]] : (tensor<4x1x8xf32>, tensor<4x1x8xf32>)
// CHECK-NEXT: [[Y:%.*]], {{%.*}}, {{%.*}} = dlc.layer_norm [[S]], %arg2, %arg2 {axis = 2 {{.*}} -> (tensor<4x1x8xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>)
// CHECK-NEXT: return [[Y]]
func.func @first_token(%x: tensor<4x5x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<4x1x8xf32> {
  %h = dlc.matmul %x, %w, %b : (tensor<4x5x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x5x8xf32>
  %g = dlc.gelu %h : (tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  %s = dlc.add %x, %g : (tensor<4x5x8xf32>, tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  %y, %m, %r = dlc.layer_norm %s, %b, %b {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<4x5x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x5x8xf32>, tensor<4x5x1xf32>, tensor<4x5x1xf32>)
  %0 = dlc.slice %y {sizes = array<i64: 4, 1, 8>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<4x5x8xf32>) -> tensor<4x1x8xf32>
  return %0 : tensor<4x1x8xf32>
}

// Operands that broadcast along what is cut off, or have fewer dimensions, are read as they are; a table of positions is cut.
// CHECK-LABEL: func @broadcast
// CHECK-DAG: [[X:%.*]] = dlc.slice %arg0 {{.*}} -> tensor<4x2x8xf32>
// CHECK-DAG: [[P:%.*]] = dlc.slice %arg1 {sizes = array<i64: 2, 8>, starts = array<i64: 3, 0>, steps = array<i64: -2, 1>}
// CHECK: [[S:%.*]] = dlc.add [[X]], [[P]] : (tensor<4x2x8xf32>, tensor<2x8xf32>) -> tensor<4x2x8xf32>
// CHECK: [[T:%.*]] = dlc.mul [[S]], %arg2 : (tensor<4x2x8xf32>, tensor<4x1x1xf32>)
// CHECK: dlc.mul [[T]], %arg3 : (tensor<4x2x8xf32>, tensor<8xf32>)
func.func @broadcast(%x: tensor<4x5x8xf32>, %p: tensor<5x8xf32>, %c: tensor<4x1x1xf32>, %d: tensor<8xf32>) -> tensor<4x2x8xf32> {
  %s = dlc.add %x, %p : (tensor<4x5x8xf32>, tensor<5x8xf32>) -> tensor<4x5x8xf32>
  %t = dlc.mul %s, %c : (tensor<4x5x8xf32>, tensor<4x1x1xf32>) -> tensor<4x5x8xf32>
  %u = dlc.mul %t, %d : (tensor<4x5x8xf32>, tensor<8xf32>) -> tensor<4x5x8xf32>
  %0 = dlc.slice %u {sizes = array<i64: 4, 2, 8>, starts = array<i64: 0, 3, 0>, steps = array<i64: 1, -2, 1>} : (tensor<4x5x8xf32>) -> tensor<4x2x8xf32>
  return %0 : tensor<4x2x8xf32>
}

// A slice stays behind what others read, too, what it keeps more than half of, what mixes its rows, and a transposed product.
// CHECK-LABEL: func @stays
// CHECK: [[R:%.*]] = dlc.relu %arg0 : (tensor<4x5x8xf32>)
// CHECK: dlc.slice [[R]]
// CHECK: [[N:%.*]] = dlc.neg %arg0 : (tensor<4x5x8xf32>)
// CHECK: dlc.slice [[N]]
// CHECK: [[Y:%.*]], {{%.*}}, {{%.*}} = dlc.layer_norm %arg0, {{.*}} -> (tensor<4x5x8xf32>
// CHECK: dlc.slice [[Y]]
// CHECK: [[M:%.*]] = dlc.matmul %arg0, %arg2 {trans_a}
// CHECK: dlc.slice [[M]]
// CHECK: [[C:%.*]] = dlc.matmul %arg0, %arg3 :
// CHECK: dlc.slice [[C]]
func.func @stays(%x: tensor<4x5x8xf32>, %b: tensor<5x8xf32>, %w: tensor<5x8xf32>, %v: tensor<8x8xf32>)
    -> (tensor<4x5x8xf32>, tensor<4x1x8xf32>, tensor<4x3x8xf32>, tensor<4x1x8xf32>, tensor<4x1x8xf32>, tensor<4x5x1xf32>) {
  %r = dlc.relu %x : (tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  %0 = dlc.slice %r {sizes = array<i64: 4, 1, 8>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<4x5x8xf32>) -> tensor<4x1x8xf32>
  %n = dlc.neg %x : (tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  %1 = dlc.slice %n {sizes = array<i64: 4, 3, 8>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<4x5x8xf32>) -> tensor<4x3x8xf32>
  %y, %m, %s = dlc.layer_norm %x, %b, %b {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<4x5x8xf32>, tensor<5x8xf32>, tensor<5x8xf32>) -> (tensor<4x5x8xf32>, tensor<4x1x1xf32>, tensor<4x1x1xf32>)
  %2 = dlc.slice %y {sizes = array<i64: 4, 1, 8>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<4x5x8xf32>) -> tensor<4x1x8xf32>
  %p = dlc.matmul %x, %w {trans_a} : (tensor<4x5x8xf32>, tensor<5x8xf32>) -> tensor<4x8x8xf32>
  %3 = dlc.slice %p {sizes = array<i64: 4, 1, 8>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<4x8x8xf32>) -> tensor<4x1x8xf32>
  %q = dlc.matmul %x, %v : (tensor<4x5x8xf32>, tensor<8x8xf32>) -> tensor<4x5x8xf32>
  %4 = dlc.slice %q {sizes = array<i64: 4, 5, 1>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<4x5x8xf32>) -> tensor<4x5x1xf32>
  return %r, %0, %1, %2, %3, %4 : tensor<4x5x8xf32>, tensor<4x1x8xf32>, tensor<4x3x8xf32>, tensor<4x1x8xf32>, tensor<4x1x8xf32>, tensor<4x5x1xf32>
}
