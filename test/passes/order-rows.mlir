// RUN: %dlc-opt %s --dlc-order-rows --canonicalize --cse | FileCheck %s

// PyTorch's multi-head attention: [batch, time] becomes [time, batch] and back, queries are number 0 of a transposed view.
// CHECK-LABEL: func @heads
// CHECK: %[[Y:.*]] = dlc.matmul %arg0, %arg1, %arg2 {trans_b} : (tensor<4x8x16xf32>, tensor<48x16xf32>, tensor<48xf32>) -> tensor<4x8x48xf32>
// CHECK: %[[S:.*]] = dlc.slice %[[Y]] {sizes = array<i64: 4, 8, 16>, starts = array<i64: 0, 0, 16>
// CHECK: %[[V:.*]] = dlc.reshape %[[S]] : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
// CHECK: %[[Q:.*]] = dlc.transpose %[[V]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK: return %[[Q]]
func.func @heads(%x: tensor<4x8x16xf32>, %w: tensor<48x16xf32>, %b: tensor<48xf32>) -> tensor<4x2x8x8xf32> {
  %one = dlc.constant dense<-2> : tensor<i64>
  %t = dlc.transpose %x {perm = array<i64: 1, 0, 2>} : (tensor<4x8x16xf32>) -> tensor<8x4x16xf32>
  %y = dlc.matmul %t, %w, %b {trans_b} : (tensor<8x4x16xf32>, tensor<48x16xf32>, tensor<48xf32>) -> tensor<8x4x48xf32>
  %v = dlc.reshape %y : (tensor<8x4x48xf32>) -> tensor<1x8x4x3x16xf32>
  %p = dlc.transpose %v {perm = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x8x4x3x16xf32>) -> tensor<3x8x4x1x16xf32>
  %r = dlc.reshape %p : (tensor<3x8x4x1x16xf32>) -> tensor<3x8x4x16xf32>
  %g = dlc.gather %r, %one {axis = 0 : i64} : (tensor<3x8x4x16xf32>, tensor<i64>) -> tensor<8x4x16xf32>
  %h = dlc.reshape %g : (tensor<8x4x16xf32>) -> tensor<8x8x8xf32>
  %u = dlc.transpose %h {perm = array<i64: 1, 0, 2>} : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
  %q = dlc.reshape %u : (tensor<8x8x8xf32>) -> tensor<4x2x8x8xf32>
  return %q : tensor<4x2x8x8xf32>
}

// The projection behind it: rows are those of the heads.
// CHECK-LABEL: func @projection
// CHECK: %[[T:.*]] = dlc.transpose %arg0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x2x8x8xf32>) -> tensor<4x8x2x8xf32>
// CHECK: %[[R:.*]] = dlc.reshape %[[T]] : (tensor<4x8x2x8xf32>) -> tensor<4x8x16xf32>
// CHECK: %[[Y:.*]] = dlc.matmul %[[R]], %arg1
// CHECK: return %[[Y]]
func.func @projection(%a: tensor<4x2x8x8xf32>, %w: tensor<16x16xf32>) -> tensor<4x8x16xf32> {
  %t = dlc.transpose %a {perm = array<i64: 2, 0, 1, 3>} : (tensor<4x2x8x8xf32>) -> tensor<8x4x2x8xf32>
  %r = dlc.reshape %t : (tensor<8x4x2x8xf32>) -> tensor<32x16xf32>
  %y = dlc.matmul %r, %w : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %v = dlc.reshape %y : (tensor<32x16xf32>) -> tensor<8x4x16xf32>
  %z = dlc.transpose %v {perm = array<i64: 1, 0, 2>} : (tensor<8x4x16xf32>) -> tensor<4x8x16xf32>
  return %z : tensor<4x8x16xf32>
}

// Transposes on both sides of a product that undo each other; another reader needs the value before them.
// CHECK-LABEL: func @between
// CHECK: %[[T:.*]] = dlc.transpose %arg0 {perm = array<i64: 0, 2, 1, 3>}
// CHECK: %[[R:.*]] = dlc.reshape %[[T]]
// CHECK-NEXT: %[[Y:.*]] = dlc.matmul %[[R]], %arg1
// CHECK-NEXT: return %[[Y]], %[[T]]
func.func @between(%a: tensor<4x2x8x8xf32>, %w: tensor<16x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x2x8xf32>) {
  %t = dlc.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x2x8x8xf32>) -> tensor<4x8x2x8xf32>
  %r = dlc.reshape %t : (tensor<4x8x2x8xf32>) -> tensor<4x8x16xf32>
  %u = dlc.transpose %r {perm = array<i64: 1, 0, 2>} : (tensor<4x8x16xf32>) -> tensor<8x4x16xf32>
  %y = dlc.matmul %u, %w : (tensor<8x4x16xf32>, tensor<16x16xf32>) -> tensor<8x4x16xf32>
  %z = dlc.transpose %y {perm = array<i64: 1, 0, 2>} : (tensor<8x4x16xf32>) -> tensor<4x8x16xf32>
  return %z, %t : tensor<4x8x16xf32>, tensor<4x8x2x8xf32>
}

// Left: a transpose that meets no other one, one of columns, a product with matrices of a batch, a slice of a transposed
// value with other uses, a slice that is not one range of its view's operand, an index out of range or without a gradient.
// CHECK-LABEL: func @left
// CHECK: %[[A:.*]] = dlc.transpose %arg0 {perm = array<i64: 1, 0, 2>}
// CHECK: dlc.matmul %[[A]], %arg1
// CHECK: %[[B:.*]] = dlc.transpose %arg0 {perm = array<i64: 0, 2, 1>}
// CHECK: dlc.slice %[[B]]
// CHECK: %[[V:.*]] = dlc.reshape %arg0 : (tensor<4x8x16xf32>) -> tensor<4x8x8x2xf32>
// CHECK: dlc.slice %[[V]]
// CHECK-COUNT-2: dlc.gather
func.func @left(%x: tensor<4x8x16xf32>, %w: tensor<16x16xf32>)
    -> (tensor<8x4x16xf32>, tensor<4x16x8xf32>, tensor<4x2x8xf32>, tensor<4x8x8x1xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
  %nine = dlc.constant dense<9> : tensor<i64>
  %two = dlc.constant dense<2> : tensor<i64>
  %a = dlc.transpose %x {perm = array<i64: 1, 0, 2>} : (tensor<4x8x16xf32>) -> tensor<8x4x16xf32>
  %y = dlc.matmul %a, %w : (tensor<8x4x16xf32>, tensor<16x16xf32>) -> tensor<8x4x16xf32>
  %b = dlc.transpose %x {perm = array<i64: 0, 2, 1>} : (tensor<4x8x16xf32>) -> tensor<4x16x8xf32>
  %c = dlc.slice %b {sizes = array<i64: 4, 2, 8>, starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>} : (tensor<4x16x8xf32>) -> tensor<4x2x8xf32>
  %v = dlc.reshape %x : (tensor<4x8x16xf32>) -> tensor<4x8x8x2xf32>
  %d = dlc.slice %v {sizes = array<i64: 4, 8, 8, 1>, starts = array<i64: 0, 0, 0, 1>, steps = array<i64: 1, 1, 1, 1>} : (tensor<4x8x8x2xf32>) -> tensor<4x8x8x1xf32>
  %e = dlc.gather %x, %nine {axis = 0 : i64} : (tensor<4x8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
  %f = dlc.gather %x, %two {axis = 0 : i64, padding = 2 : i64} : (tensor<4x8x16xf32>, tensor<i64>) -> tensor<8x16xf32>
  return %y, %b, %c, %d, %e, %f : tensor<8x4x16xf32>, tensor<4x16x8xf32>, tensor<4x2x8xf32>, tensor<4x8x8x1xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}
