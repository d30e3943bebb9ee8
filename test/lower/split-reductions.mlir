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
// GPU: %[[Y:.*]] = dlc.reshape %arg1 : {{.*}} -> tensor<64x128x768xf32>
// GPU: %[[B:.*]] = dlc.reduce_sum %[[Y]] {axes = array<i64: 1>, keepdims} : {{.*}} -> tensor<64x1x768xf32>
// An operand that would be fused is computed in that shape, not put into memory for it.
// GPU: %[[Z:.*]] = dlc.reshape %arg1
// GPU: %[[P:.*]] = dlc.mul %[[Z]], %[[Z]] : {{.*}} -> tensor<64x128x768xf32>
// GPU: %[[C:.*]] = dlc.reduce_sum %[[P]] {axes = array<i64: 1>, keepdims}
// The second stages stand where they are read, so that the first ones of one value can be one kernel.
// GPU-DAG: dlc.reduce_sum %[[A]] {axes = array<i64: 0>, keepdims} : {{.*}} -> tensor<1x1x768xf32>
// GPU-DAG: dlc.reduce_sum %[[B]] {axes = array<i64: 0>, keepdims}
// GPU-DAG: dlc.reduce_sum %[[C]] {axes = array<i64: 0>, keepdims}
// GPU: return
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

// What the forward part has looked up is kept for a gradient: the product with it is computed there.
// GPU-LABEL: func @embedded
// GPU: %[[T:.*]] = dlc.gather
// GPU-DAG: %[[X:.*]] = dlc.reshape %[[T]] : {{.*}} -> tensor<64x128x768xbf16>
// GPU: dlc.cast %[[X]]
// GPU: dlc.mul {{.*}} -> tensor<64x128x768xf32>
// GPU: dlc.reduce_sum {{.*}} {axes = array<i64: 1>, keepdims} : (tensor<64x128x768xf32>)
func.func @embedded(%table: tensor<512x768xbf16>, %i: tensor<8x1024xi64>, %dy: tensor<8x1024x768xbf16>) -> (tensor<768xf32>, tensor<8x1024x768xf32>) {
  %t = dlc.gather %table, %i by = generated {axis = 0 : i64} : (tensor<512x768xbf16>, tensor<8x1024xi64>) -> tensor<8x1024x768xbf16>
  %w = dlc.cast %t : (tensor<8x1024x768xbf16>) -> tensor<8x1024x768xf32>
  %d = dlc.cast %dy : (tensor<8x1024x768xbf16>) -> tensor<8x1024x768xf32>
  %p = dlc.mul %d, %w : (tensor<8x1024x768xf32>, tensor<8x1024x768xf32>) -> tensor<8x1024x768xf32>
  %s = dlc.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<8x1024x768xf32>) -> tensor<768xf32> loc(fused<"gradient">["norm"])
  return %s, %w : tensor<768xf32>, tensor<8x1024x768xf32>
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

// However much a residual's addends are made of, the cast of their sum is repeated in the shape of the parts, as the sum is
// in memory.
// CHECK-LABEL: func @residual_of_many
// GPU-LABEL: func @residual_of_many
// GPU: %[[A:.*]] = dlc.add
// GPU: %[[R:.*]] = dlc.reshape %[[A]] : (tensor<8192x768xbf16>) -> tensor<64x128x768xbf16>
// GPU: %[[W:.*]] = dlc.cast %[[R]]
// GPU: dlc.reduce_sum %[[W]] {axes = array<i64: 1>, keepdims}
func.func @residual_of_many(%p: tensor<8192x768xbf16>, %q: tensor<8192x768xbf16>) -> (tensor<768xf32>, tensor<8192x768xf32>) {
  %c0 = dlc.neg %p : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c1 = dlc.neg %c0 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c2 = dlc.neg %c1 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c3 = dlc.neg %c2 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c4 = dlc.neg %c3 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c5 = dlc.neg %c4 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c6 = dlc.neg %c5 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c7 = dlc.neg %c6 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c8 = dlc.neg %c7 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c9 = dlc.neg %c8 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c10 = dlc.neg %c9 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c11 = dlc.neg %c10 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c12 = dlc.neg %c11 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c13 = dlc.neg %c12 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c14 = dlc.neg %c13 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c15 = dlc.neg %c14 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c16 = dlc.neg %c15 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c17 = dlc.neg %c16 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c18 = dlc.neg %c17 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c19 = dlc.neg %c18 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c20 = dlc.neg %c19 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c21 = dlc.neg %c20 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c22 = dlc.neg %c21 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c23 = dlc.neg %c22 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c24 = dlc.neg %c23 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c25 = dlc.neg %c24 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c26 = dlc.neg %c25 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c27 = dlc.neg %c26 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c28 = dlc.neg %c27 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c29 = dlc.neg %c28 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c30 = dlc.neg %c29 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c31 = dlc.neg %c30 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c32 = dlc.neg %c31 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c33 = dlc.neg %c32 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c34 = dlc.neg %c33 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c35 = dlc.neg %c34 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c36 = dlc.neg %c35 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c37 = dlc.neg %c36 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c38 = dlc.neg %c37 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %c39 = dlc.neg %c38 : (tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %a = dlc.add %c39, %q : (tensor<8192x768xbf16>, tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %w = dlc.cast %a : (tensor<8192x768xbf16>) -> tensor<8192x768xf32>
  %s = dlc.reduce_sum %w {axes = array<i64: 0>} : (tensor<8192x768xf32>) -> tensor<768xf32>
  %e = dlc.exp %w : (tensor<8192x768xf32>) -> tensor<8192x768xf32>
  return %s, %e : tensor<768xf32>, tensor<8192x768xf32>
}

// That a gradient is complete on one rank reads nothing: the sums of two gradients follow each other. In a bucket it is sent
// while the step goes on.
// CHECK-LABEL: func @gradients
// CHECK: dlc.all_reduce
// CHECK: dlc.reduce_sum
// GPU-LABEL: func @gradients
// GPU: dlc.reduce_sum {{.*}} -> tensor<64x1x768xf32>
// GPU: dlc.reduce_sum {{.*}} -> tensor<128x1x512xf32>
// GPU: dlc.reduce_sum {{.*}} -> tensor<1x1x768xf32>
// GPU-NEXT: dlc.reduce_sum {{.*}} -> tensor<1x1x512xf32>
// GPU: dlc.cast {{.*}} -> tensor<768xf32>
// GPU: dlc.cast {{.*}} -> tensor<512xf32>
// GPU-COUNT-2: dlc.all_reduce
// GPU: dlc.add
// GPU-LABEL: func @buckets
// GPU: dlc.reduce_sum {{.*}} -> tensor<1x1x768xf32>
// GPU: dlc.all_reduce
// GPU: dlc.reduce_sum {{.*}} -> tensor<128x1x512xf32>
// Gradients of one bucket are sent together, so that they are complete where the last of them is.
// GPU-LABEL: func @sent_together
// GPU: dlc.reduce_sum {{.*}} -> tensor<64x1x768xf32>
// GPU-NOT: dlc.all_reduce
// GPU: dlc.reduce_sum {{.*}} -> tensor<128x1x512xf32>
// GPU: dlc.reduce_sum {{.*}} -> tensor<1x1x768xf32>
// GPU-NEXT: dlc.reduce_sum {{.*}} -> tensor<1x1x512xf32>
// GPU: dlc.all_reduce {{.*}} of = @a}
// GPU-NEXT: dlc.all_reduce {{.*}} of = @b}
func.func @gradients(%x: tensor<8192x768xbf16>, %y: tensor<8192x512xbf16>, %w: tensor<768xf32>) -> (tensor<768xf32>, tensor<512xf32>) {
  %a = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  %b = dlc.cast %a : (tensor<768xbf16>) -> tensor<768xf32>
  %c = dlc.all_reduce %b : (tensor<768xf32>) -> tensor<768xf32>
  %d = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<8192x512xbf16>) -> tensor<512xbf16>
  %e = dlc.cast %d : (tensor<512xbf16>) -> tensor<512xf32>
  %f = dlc.all_reduce %e : (tensor<512xf32>) -> tensor<512xf32>
  %g = dlc.add %w, %c : (tensor<768xf32>, tensor<768xf32>) -> tensor<768xf32>
  return %g, %f : tensor<768xf32>, tensor<512xf32>
}
func.func @buckets(%x: tensor<8192x768xbf16>, %y: tensor<8192x512xbf16>) -> (tensor<768xf32>, tensor<512xf32>) {
  %a = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  %b = dlc.cast %a : (tensor<768xbf16>) -> tensor<768xf32>
  %c = dlc.all_reduce %b {bucket = 0 : i64} : (tensor<768xf32>) -> tensor<768xf32>
  %d = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<8192x512xbf16>) -> tensor<512xbf16>
  %e = dlc.cast %d : (tensor<512xbf16>) -> tensor<512xf32>
  %f = dlc.all_reduce %e {bucket = 0 : i64} : (tensor<512xf32>) -> tensor<512xf32>
  return %c, %f : tensor<768xf32>, tensor<512xf32>
}
dlc.state @a : tensor<768xf32> param init = "a" trainable
dlc.state @b : tensor<512xf32> param init = "b" trainable
func.func @sent_together(%x: tensor<8192x768xbf16>, %y: tensor<8192x512xbf16>) -> (tensor<768xf32>, tensor<512xf32>) {
  %a = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  %b = dlc.cast %a : (tensor<768xbf16>) -> tensor<768xf32>
  %c = dlc.all_reduce %b {bucket = 0 : i64, of = @a} : (tensor<768xf32>) -> tensor<768xf32>
  %d = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<8192x512xbf16>) -> tensor<512xbf16>
  %e = dlc.cast %d : (tensor<512xbf16>) -> tensor<512xf32>
  %f = dlc.all_reduce %e {bucket = 0 : i64, of = @b} : (tensor<512xf32>) -> tensor<512xf32>
  return %c, %f : tensor<768xf32>, tensor<512xf32>
}

// Columns narrower than a vector: those of several rows side by side. Where the elements would be computed by the same
// kernel, they are summed as they are.
// CHECK-LABEL: func @narrow
// CHECK: %[[VIEW:.*]] = dlc.reshape %arg0 : {{.*}} -> tensor<64x49x96xbf16>
// CHECK: %[[X:.*]] = dlc.cast %[[VIEW]]
// CHECK: %[[STAGE:.*]] = dlc.reduce_sum %[[X]] {axes = array<i64: 1>, keepdims} : {{.*}} -> tensor<64x1x96xf32>
// CHECK: %[[ROWS:.*]] = dlc.reshape %[[STAGE]] : {{.*}} -> tensor<1024x6xf32>
// CHECK: %[[E:.*]] = dlc.exp %arg1
// CHECK: %[[IMAGES:.*]] = dlc.reduce_sum %[[E]] {axes = array<i64: 1, 2>, keepdims} : {{.*}} -> tensor<64x1x1x6xf32>
// CHECK: dlc.reduce_sum %[[ROWS]] {axes = array<i64: 0>, keepdims} : {{.*}} -> tensor<1x6xf32>
// CHECK: dlc.reduce_sum %[[IMAGES]]
func.func @narrow(%x: tensor<64x28x28x6xbf16>, %y: tensor<64x28x28x6xf32>) -> (tensor<6xbf16>, tensor<6xf32>) {
  %a = dlc.reduce_sum %x {axes = array<i64: 0, 1, 2>} : (tensor<64x28x28x6xbf16>) -> tensor<6xbf16>
  %e = dlc.exp %y : (tensor<64x28x28x6xf32>) -> tensor<64x28x28x6xf32>
  %b = dlc.reduce_sum %e {axes = array<i64: 0, 1, 2>} : (tensor<64x28x28x6xf32>) -> tensor<6xf32>
  return %a, %b : tensor<6xbf16>, tensor<6xf32>
}
