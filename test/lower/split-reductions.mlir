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
// GPU: %[[X:.*]] = dlc.reshape %arg0 : {{.*}} -> tensor<64x128x768xf32>
// GPU: %[[A:.*]] = dlc.reduce_sum %[[X]] {axes = array<i64: 1>, keepdims} : {{.*}} -> tensor<64x1x768xf32>
// GPU: dlc.reduce_sum %[[A]] {axes = array<i64: 0>, keepdims} : {{.*}} -> tensor<1x1x768xf32>
// GPU: %[[Y:.*]] = dlc.reshape %arg1 : {{.*}} -> tensor<64x128x768xf32>
// GPU: dlc.reduce_sum %[[Y]] {axes = array<i64: 1>, keepdims} : {{.*}} -> tensor<64x1x768xf32>
// An operand that would be fused is computed in that shape, not put into memory for it.
// GPU: %[[Z:.*]] = dlc.reshape %arg1
// GPU: %[[P:.*]] = dlc.mul %[[Z]], %[[Z]] : {{.*}} -> tensor<64x128x768xf32>
// GPU: dlc.reduce_sum %[[P]] {axes = array<i64: 1>, keepdims}
func.func @columns(%x: tensor<16x512x768xf32>, %y: tensor<8192x768xf32>) -> (tensor<768xf32>, tensor<768xf32>, tensor<768xf32>) {
  %a = dlc.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<16x512x768xf32>) -> tensor<768xf32>
  %b = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<8192x768xf32>) -> tensor<768xf32>
  %p = dlc.mul %y, %y : (tensor<8192x768xf32>, tensor<8192x768xf32>) -> tensor<8192x768xf32>
  %c = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<8192x768xf32>) -> tensor<768xf32>
  return %a, %b, %c : tensor<768xf32>, tensor<768xf32>, tensor<768xf32>
}

// The gradient of a layer norm's scale: what it is made of lies in memory, as
// halves and as one number a row; it is computed there again, not read in f32.
// CHECK-LABEL: func @norm
// GPU-LABEL: func @norm
// GPU-DAG: %[[DY:.*]] = dlc.reshape %arg0 : {{.*}} -> tensor<64x128x768xbf16>
// GPU-DAG: %[[X:.*]] = dlc.reshape %arg1 : {{.*}} -> tensor<64x128x768xbf16>
// GPU-DAG: %[[MEAN:.*]] = dlc.reshape %arg2 : {{.*}} -> tensor<64x128x1xf32>
// GPU-DAG: %[[WIDE:.*]] = dlc.cast %[[X]]
// GPU: %[[C:.*]] = dlc.sub %[[WIDE]], %[[MEAN]]
// GPU: %[[P:.*]] = dlc.mul %{{.*}}, %[[C]] : {{.*}} -> tensor<64x128x768xf32>
// GPU: dlc.reduce_sum %[[P]] {axes = array<i64: 1>, keepdims}
func.func @norm(%dy: tensor<8x1024x768xbf16>, %x: tensor<8x1024x768xbf16>, %mean: tensor<8x1024x1xf32>)
    -> (tensor<768xf32>, tensor<8x1024x768xf32>) {
  %d = dlc.cast %dy : (tensor<8x1024x768xbf16>) -> tensor<8x1024x768xf32>
  %w = dlc.cast %x : (tensor<8x1024x768xbf16>) -> tensor<8x1024x768xf32>
  %c = dlc.sub %w, %mean : (tensor<8x1024x768xf32>, tensor<8x1024x1xf32>) -> tensor<8x1024x768xf32>
  %p = dlc.mul %d, %c : (tensor<8x1024x768xf32>, tensor<8x1024x768xf32>) -> tensor<8x1024x768xf32>
  %s = dlc.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<8x1024x768xf32>) -> tensor<768xf32>
  %e = dlc.add %d, %c : (tensor<8x1024x768xf32>, tensor<8x1024x768xf32>) -> tensor<8x1024x768xf32>
  return %s, %e : tensor<768xf32>, tensor<8x1024x768xf32>
}

// What needs more bytes than its result is read: a residual sum of two arrays.
// GPU-LABEL: func @residual
// GPU: %[[R:.*]] = dlc.add %arg0, %arg1
// GPU: dlc.reshape %[[R]] : {{.*}} -> tensor<64x128x768xbf16>
// GPU-NOT: dlc.add
// GPU: return
func.func @residual(%a: tensor<8x1024x768xbf16>, %b: tensor<8x1024x768xbf16>)
    -> (tensor<768xbf16>, tensor<8x1024x768xbf16>) {
  %r = dlc.add %a, %b : (tensor<8x1024x768xbf16>, tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
  %s = dlc.reduce_sum %r {axes = array<i64: 0, 1>} : (tensor<8x1024x768xbf16>) -> tensor<768xbf16>
  return %s, %r : tensor<768xbf16>, tensor<8x1024x768xbf16>
}

// A broadcast is no array that could be read instead: nothing moves.
// CHECK-LABEL: func @gated
// GPU-LABEL: func @gated
// GPU: dlc.reduce_sum %{{.*}} {axes = array<i64: 1>, keepdims} : (tensor<64x128x768xf32>) -> tensor<64x1x768xf32>
func.func @gated(%x: tensor<64x128x768xf32>, %g: tensor<64x1x768xf32>) -> tensor<768xf32> {
  %b = dlc.broadcast %g : (tensor<64x1x768xf32>) -> tensor<64x128x768xf32>
  %p = dlc.mul %x, %b : (tensor<64x128x768xf32>, tensor<64x128x768xf32>) -> tensor<64x128x768xf32>
  %s = dlc.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<64x128x768xf32>) -> tensor<768xf32>
  return %s : tensor<768xf32>
}
