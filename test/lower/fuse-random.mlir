// RUN: %dlc-opt %s --dlc-fuse | FileCheck %s

// Dropout is part of the kernel around it, and its positions cost no memory. What the backward kernel reads is the mask,
// a byte an element: drawing again would cost more.
// CHECK-LABEL: func @dropout
// CHECK: %[[F:.*]]:2 = dlc.fused({{.*}}) : {{.*}} -> (tensor<64x128xi1>, tensor<64x128xf32>)
// CHECK: dlc.position
// CHECK: dlc.tanh
// CHECK: dlc.uniform
// CHECK: dlc.compare
// CHECK: dlc.select
// CHECK: dlc.matmul %[[F]]#1
// CHECK: dlc.fused({{.*}}%[[F]]#0{{.*}}) : {{.*}} -> tensor<64x128xf32>
// CHECK-NOT: dlc.uniform
// CHECK: return
func.func @dropout(%x: tensor<64x128xf32>, %w: tensor<128x128xf32>, %draw: tensor<i64>, %key: tensor<i64>) -> tensor<64x128xf32> {
  %0 = dlc.tanh %x : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %p = dlc.position : () -> tensor<64x128xi64>
  %u, %v = dlc.uniform %p, %draw, %key : (tensor<64x128xi64>, tensor<i64>, tensor<i64>) -> (tensor<64x128xf32>, tensor<64x128xf32>)
  %r = dlc.constant dense<0.5> : tensor<f32>
  %z = dlc.constant dense<0.0> : tensor<f32>
  %m = dlc.compare ge %u, %r : (tensor<64x128xf32>, tensor<f32>) -> tensor<64x128xi1>
  %1 = dlc.select %m, %0, %z : (tensor<64x128xi1>, tensor<64x128xf32>, tensor<f32>) -> tensor<64x128xf32>
  %2 = dlc.matmul %1, %w : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %3 = dlc.matmul %2, %w {trans_b} : (tensor<64x128xf32>, tensor<128x128xf32>) -> tensor<64x128xf32>
  %4 = dlc.select %m, %3, %z : (tensor<64x128xi1>, tensor<64x128xf32>, tensor<f32>) -> tensor<64x128xf32>
  return %4 : tensor<64x128xf32>
}
