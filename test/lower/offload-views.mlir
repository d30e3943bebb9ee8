// RUN: %dlc-opt %s --dlc-fuse "--dlc-recompute=memory=1 offload=only" | FileCheck %s

// Uses after the gap read the copy, and views of it. A new value of a state, what is small, and what is used at once stay.
// CHECK-LABEL: func @train_step
// CHECK-NOT: dlc.reshape
// CHECK: %[[A:.*]] = dlc.matmul %arg0, %arg0
// CHECK-NEXT: %[[SMALL:.*]] = dlc.matmul %arg1, %[[A]]
// CHECK-NEXT: %[[STATE:.*]] = dlc.matmul %[[A]], %arg0
// CHECK-NEXT: %[[H:.*]] = dlc.offload %[[A]]
// CHECK-NOT: dlc.offload %[[SMALL]]
// CHECK-NOT: dlc.offload %[[STATE]]
// CHECK: dlc.reduce_sum
// CHECK-NOT: dlc.fetch
// CHECK: dlc.matmul
// CHECK: %[[W:.*]] = dlc.reshape
// CHECK: %[[B:.*]] = dlc.wait_copy
// CHECK-NEXT: %[[V:.*]] = dlc.reshape %[[B]]
// CHECK-NEXT: dlc.matmul %[[V]], %[[W]]
// CHECK-NEXT: %[[G:.*]] = dlc.matmul %arg1, %[[SMALL]]
// CHECK-NEXT: dlc.matmul %[[B]], %[[G]]
dlc.state @s : tensor<1024x1024xf32> buffer init = 0.0 : f32
func.func @train_step(%x: tensor<1024x1024xf32>, %rows: tensor<64x1024xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<512x512xf32> {dlc.name = "g"}, tensor<1024x1024xf32> {dlc.name = "h"}) {
  %a = dlc.matmul %x, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %v = dlc.reshape %a : (tensor<1024x1024xf32>) -> tensor<2048x512xf32>
  %small = dlc.matmul %rows, %a : (tensor<64x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x1024xf32>
  %b = dlc.matmul %a, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %c = dlc.matmul %b, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %d = dlc.matmul %c, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %e = dlc.matmul %d, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %f = dlc.matmul %e, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %loss = dlc.reduce_sum %f {axes = array<i64: 0, 1>} : (tensor<1024x1024xf32>) -> tensor<f32>
  %g0 = dlc.matmul %f, %e : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["d"])
  %g1 = dlc.matmul %g0, %b : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["d"])
  %g2 = dlc.matmul %g1, %d : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["d"])
  %g3 = dlc.matmul %g2, %c : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["d"])
  %w = dlc.reshape %g3 : (tensor<1024x1024xf32>) -> tensor<2048x512xf32> loc(fused<"gradient">["d"])
  %g4 = dlc.matmul %v, %w {trans_a} : (tensor<2048x512xf32>, tensor<2048x512xf32>) -> tensor<512x512xf32> loc(fused<"gradient">["d"])
  %g5 = dlc.matmul %rows, %small {trans_a} : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["d"])
  %g6 = dlc.matmul %a, %g5 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32> loc(fused<"gradient">["d"])
  dlc.write @s, %b : tensor<1024x1024xf32>
  return %loss, %g4, %g6 : tensor<f32>, tensor<512x512xf32>, tensor<1024x1024xf32>
}
