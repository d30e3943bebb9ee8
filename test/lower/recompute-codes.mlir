// RUN: %dlc-opt %s --dlc-fuse --dlc-recompute | FileCheck %s

// What constant states of fewer bytes stand for is computed again: a weight in few bits, also where it takes two clusters.
// The square of a constant of as many bytes is kept, and so is what is made of a buffer, which a step may write.
// CHECK-LABEL: func @decoded
// CHECK-DAG: %[[C:.*]] = dlc.read @codes
// CHECK-DAG: %[[S:.*]] = dlc.read @scales
// CHECK: %[[W:.*]] = dlc.fused(%[[C]], %[[S]])
// CHECK: dlc.matmul %arg0, %[[W]]
// CHECK: %[[V:.*]] = dlc.fused(%[[W]])
// CHECK: %[[Q:.*]] = dlc.fused(
// CHECK: %[[B:.*]] = dlc.fused(
// CHECK: %[[D:.*]] = dlc.matmul %arg1, %arg1
// CHECK: dlc.matmul %[[D]], %[[Q]]
// CHECK: dlc.matmul %{{.*}}, %[[B]]
// CHECK: %[[AGAIN:.*]] = dlc.fused(%[[C]], %[[S]])
// CHECK: %[[LATER:.*]] = dlc.fused(%[[AGAIN]])
// CHECK: dlc.matmul %{{.*}}, %[[LATER]]
dlc.state @codes : tensor<8x4xi8> const init = "codes"
dlc.state @scales : tensor<8x1xf32> const init = "scales"
dlc.state @whole : tensor<8x4xf32> const init = "whole"
dlc.state @seen : tensor<8x4xi8> buffer init = "seen"
func.func @decoded(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<8x4xf32> {dlc.name = "g"}) {
  %c = dlc.read @codes : tensor<8x4xi8>
  %s = dlc.read @scales : tensor<8x1xf32>
  %f = dlc.cast %c : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %w = dlc.mul %f, %s : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x4xf32>
  %m = dlc.matmul %x, %w : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %v = dlc.transpose %w {perm = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %n = dlc.matmul %m, %v : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %r = dlc.read @whole : tensor<8x4xf32>
  %q = dlc.mul %r, %r : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %o = dlc.matmul %n, %q : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %t = dlc.read @seen : tensor<8x4xi8>
  %b = dlc.cast %t : (tensor<8x4xi8>) -> tensor<8x4xf32>
  %p = dlc.matmul %n, %b : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %both = dlc.matmul %o, %p {trans_b} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %loss = dlc.reduce_sum %both {axes = array<i64: 0, 1>} : (tensor<8x8xf32>) -> tensor<f32>
  %d = dlc.matmul %y, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc(fused<"gradient">["d"])
  %g = dlc.matmul %d, %q : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> loc(fused<"gradient">["d"])
  %h = dlc.matmul %g, %b {trans_b} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32> loc(fused<"gradient">["d"])
  %k = dlc.matmul %h, %v {trans_b} : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32> loc(fused<"gradient">["d"])
  return %loss, %k : tensor<f32>, tensor<8x4xf32>
}
