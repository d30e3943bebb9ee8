// RUN: %dlc-opt %s --dlc-split-reductions | FileCheck %s
// RUN: %dlc-opt %s '--dlc-split-reductions=few-outputs=16384' | FileCheck %s --check-prefix=GPU

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

// Sums of columns that a CPU's threads share as they are keep few of a GPU's busy.
// CHECK-LABEL: func @columns
// CHECK-COUNT-3: dlc.reduce_sum
// CHECK-NOT: dlc.reduce_sum
// GPU-LABEL: func @columns
// GPU: %[[A:.*]] = dlc.reduce_sum %arg0 {axes = array<i64: 1>, keepdims} : {{.*}} -> tensor<16x1x768xf32>
// GPU: dlc.reduce_sum %[[A]] {axes = array<i64: 0>, keepdims} : {{.*}} -> tensor<1x1x768xf32>
// GPU: %[[X:.*]] = dlc.reshape %arg1 : {{.*}} -> tensor<256x32x768xf32>
// GPU: %[[B:.*]] = dlc.reduce_sum %[[X]] {axes = array<i64: 1>, keepdims} : {{.*}} -> tensor<256x1x768xf32>
// GPU: dlc.reduce_sum %[[B]] {axes = array<i64: 0>, keepdims}
// An operand that would be fused is not put into memory for it.
// GPU: %[[P:.*]] = dlc.mul %arg1, %arg1
// GPU: dlc.reduce_sum %[[P]] {axes = array<i64: 0>} : (tensor<8192x768xf32>) -> tensor<768xf32>
func.func @columns(%x: tensor<16x512x768xf32>, %y: tensor<8192x768xf32>) -> (tensor<768xf32>, tensor<768xf32>, tensor<768xf32>) {
  %a = dlc.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<16x512x768xf32>) -> tensor<768xf32>
  %b = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<8192x768xf32>) -> tensor<768xf32>
  %p = dlc.mul %y, %y : (tensor<8192x768xf32>, tensor<8192x768xf32>) -> tensor<8192x768xf32>
  %c = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<8192x768xf32>) -> tensor<768xf32>
  return %a, %b, %c : tensor<768xf32>, tensor<768xf32>, tensor<768xf32>
}
