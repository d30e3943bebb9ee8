// RUN: %dlc-opt %s --dlc-split-reductions | FileCheck %s

// Many elements to one: first over all but the leading dimension, where that gives enough chunks.
// CHECK-LABEL: func @leading
// CHECK: %[[STAGE:.*]] = dlc.reduce_sum %arg0 {axes = array<i64: 1, 2>, keepdims} : {{.*}} -> tensor<64x1x1xf32>
// CHECK: dlc.reduce_sum %[[STAGE]] {axes = array<i64: 0>, keepdims} : {{.*}} -> tensor<1x1x1xf32>
func.func @leading(%x: tensor<64x28x64xf32>) -> tensor<f32> {
  %y = dlc.reduce_sum %x {axes = array<i64: 0, 1, 2>} : (tensor<64x28x64xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Otherwise in equal chunks of the flat tensor; half floats stay f32 between the stages.
// CHECK-LABEL: func @flat
// CHECK: %[[X:.*]] = dlc.cast %arg0
// CHECK: %[[CHUNKS:.*]] = dlc.reshape %[[X]] : {{.*}} -> tensor<1000x1000xf32>
// CHECK: %[[STAGE:.*]] = dlc.reduce_mean %[[CHUNKS]] {axes = array<i64: 1>, keepdims}
// CHECK: dlc.reduce_mean %[[STAGE]] {axes = array<i64: 0>, keepdims} : (tensor<1000x1xf32>) -> tensor<1x1xf32>
// CHECK: dlc.cast {{.*}} -> tensor<bf16>
func.func @flat(%x: tensor<1000000xbf16>) -> tensor<bf16> {
  %y = dlc.reduce_mean %x {axes = array<i64: 0>} : (tensor<1000000xbf16>) -> tensor<bf16>
  return %y : tensor<bf16>
}

// Small, or with results enough for all threads: one stage.
// CHECK-LABEL: func @kept
// CHECK-COUNT-2: dlc.reduce_sum
// CHECK-NOT: dlc.reduce_sum
func.func @kept(%x: tensor<1024xf32>, %z: tensor<64x4096xf32>) -> (tensor<f32>, tensor<64xf32>) {
  %y = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<1024xf32>) -> tensor<f32>
  %r = dlc.reduce_sum %z {axes = array<i64: 1>} : (tensor<64x4096xf32>) -> tensor<64xf32>
  return %y, %r : tensor<f32>, tensor<64xf32>
}
