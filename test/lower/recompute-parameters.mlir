// RUN: %dlc-opt %s --dlc-fuse --dlc-recompute | FileCheck %s

// What is made of gathered parameters alone is computed again, as are their halves with --zero=3; what data or whole ones are
// made to is not.
// CHECK-LABEL: func @halves
// CHECK: %[[W:.*]] = dlc.all_gather
// CHECK: dlc.fused(%[[W]])
// CHECK: %[[F:.*]] = dlc.fused(%{{.*}})
// CHECK: dlc.matmul %arg1, %arg1
// CHECK: %[[A:.*]] = dlc.fused(%[[W]])
// CHECK: %[[G:.*]] = dlc.matmul %[[A]], %{{.*}}
// CHECK-NOT: dlc.fused
// CHECK: dlc.matmul %[[F]], %[[G]]
dlc.state @w : tensor<4x4xf32, @w> param init = 0.0 : f32 trainable
dlc.state @f : tensor<4x4xf32> param init = 0.0 : f32
func.func @halves(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<4x4xf32> {dlc.name = "g"}) {
  %part = dlc.read @w : tensor<4x4xf32, @w>
  %w = dlc.all_gather %part : (tensor<4x4xf32, @w>) -> tensor<4x4xf32>
  %h = dlc.relu %w : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = dlc.matmul %x, %h : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %v = dlc.read @f : tensor<4x4xf32>
  %i = dlc.tanh %v : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = dlc.matmul %m, %i : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = dlc.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  %d = dlc.matmul %y, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"gradient">["d"])
  %g = dlc.matmul %h, %d : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"gradient">["d"])
  %k = dlc.matmul %i, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc(fused<"gradient">["d"])
  return %loss, %k : tensor<f32>, tensor<4x4xf32>
}
