// RUN: %dlc-opt %s '--dlc-fuse=repeat few' --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse --split-input-file | FileCheck %s --check-prefix=KEEP

// A norm of rows is one kernel, with the sum that it normalizes: its scale, a number a row, brings the reductions along. The
// backward pass reads the sum, the mean and the scale.
// CHECK-LABEL: func @layer_norm
// CHECK: dlc.fused(%arg0, %arg1, %arg2) : (tensor<4x32x768xbf16>, tensor<4x32x768xbf16>, tensor<768xf32>) -> (tensor<4x32x768xbf16>, tensor<4x32x1xf32>, tensor<4x32x1xf32>, tensor<4x32x768xbf16>)
// CHECK: dlc.reduce_mean
// CHECK: dlc.reduce_mean
// CHECK: dlc.rsqrt
// CHECK-NOT: dlc.fused
// CHECK: dlc.matmul
// KEEP-LABEL: func @layer_norm
// KEEP-COUNT-4: dlc.fused
func.func @layer_norm(%a: tensor<4x32x768xbf16>, %b: tensor<4x32x768xbf16>, %scale: tensor<768xf32>, %w: tensor<768x8xbf16>)
    -> (tensor<4x32x8xbf16>, tensor<4x32x1xf32>, tensor<4x32x1xf32>, tensor<4x32x768xbf16>) {
  %x = dlc.add %a, %b : (tensor<4x32x768xbf16>, tensor<4x32x768xbf16>) -> tensor<4x32x768xbf16>
  %0 = dlc.cast %x : (tensor<4x32x768xbf16>) -> tensor<4x32x768xf32>
  %mean = dlc.reduce_mean %0 {axes = array<i64: 2>, keepdims} : (tensor<4x32x768xf32>) -> tensor<4x32x1xf32>
  %1 = dlc.sub %0, %mean : (tensor<4x32x768xf32>, tensor<4x32x1xf32>) -> tensor<4x32x768xf32>
  %2 = dlc.mul %1, %1 : (tensor<4x32x768xf32>, tensor<4x32x768xf32>) -> tensor<4x32x768xf32>
  %3 = dlc.reduce_mean %2 {axes = array<i64: 2>, keepdims} : (tensor<4x32x768xf32>) -> tensor<4x32x1xf32>
  %c = dlc.constant dense<1.0e-5> : tensor<f32>
  %4 = dlc.add %3, %c : (tensor<4x32x1xf32>, tensor<f32>) -> tensor<4x32x1xf32>
  %rstd = dlc.rsqrt %4 : (tensor<4x32x1xf32>) -> tensor<4x32x1xf32>
  %5 = dlc.mul %1, %rstd : (tensor<4x32x768xf32>, tensor<4x32x1xf32>) -> tensor<4x32x768xf32>
  %6 = dlc.mul %5, %scale : (tensor<4x32x768xf32>, tensor<768xf32>) -> tensor<4x32x768xf32>
  %7 = dlc.cast %6 : (tensor<4x32x768xf32>) -> tensor<4x32x768xbf16>
  %y = dlc.matmul %7, %w by = library : (tensor<4x32x768xbf16>, tensor<768x8xbf16>) -> tensor<4x32x8xbf16>
  return %y, %mean, %rstd, %x : tensor<4x32x8xbf16>, tensor<4x32x1xf32>, tensor<4x32x1xf32>, tensor<4x32x768xbf16>
}

// -----
// So is it where the backward pass normalizes again, from the same rows, the mean and the scale, once a product is known.
// CHECK-LABEL: func @trained
// CHECK: %[[F:.*]]:3 = dlc.fused(%arg0, %arg1) : {{.*}} -> (tensor<128x1xf32>, tensor<128x1xf32>, tensor<128x768xf32>)
// CHECK: dlc.reduce_mean
// CHECK: dlc.reduce_mean
// CHECK: %[[P:.*]] = dlc.matmul %[[F]]#2
// CHECK: dlc.fused({{.*}}%[[P]]{{.*}}) : {{.*}} -> tensor<768xf32>
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @trained(%x: tensor<128x768xf32>, %scale: tensor<768xf32>, %w: tensor<768x768xf32>) -> tensor<768xf32> {
  %mean = dlc.reduce_mean %x {axes = array<i64: 1>, keepdims} : (tensor<128x768xf32>) -> tensor<128x1xf32>
  %0 = dlc.sub %x, %mean : (tensor<128x768xf32>, tensor<128x1xf32>) -> tensor<128x768xf32>
  %1 = dlc.mul %0, %0 : (tensor<128x768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  %2 = dlc.reduce_mean %1 {axes = array<i64: 1>, keepdims} : (tensor<128x768xf32>) -> tensor<128x1xf32>
  %3 = dlc.rsqrt %2 : (tensor<128x1xf32>) -> tensor<128x1xf32>
  %n = dlc.mul %0, %3 : (tensor<128x768xf32>, tensor<128x1xf32>) -> tensor<128x768xf32>
  %y = dlc.mul %n, %scale : (tensor<128x768xf32>, tensor<768xf32>) -> tensor<128x768xf32>
  %p = dlc.matmul %y, %w by = library : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
  %4 = dlc.mul %p, %n : (tensor<128x768xf32>, tensor<128x768xf32>) -> tensor<128x768xf32>
  %s = dlc.reduce_sum %4 {axes = array<i64: 0>} : (tensor<128x768xf32>) -> tensor<768xf32>
  return %s : tensor<768xf32>
}

// -----
// Not where the library needs the scale before: the product stands between it and what it scales.
// CHECK-LABEL: func @between
// CHECK: %[[R:.*]] = dlc.fused(%arg0) : (tensor<32x768xf32>) -> tensor<32x1xf32>
// CHECK: dlc.rsqrt
// CHECK: %[[P:.*]] = dlc.matmul %[[R]]
// CHECK: dlc.fused({{.*}}%[[R]]{{.*}}) : {{.*}} -> tensor<32x768xf32>
func.func @between(%x: tensor<32x768xf32>, %w: tensor<1x768xf32>) -> tensor<32x768xf32> {
  %0 = dlc.mul %x, %x : (tensor<32x768xf32>, tensor<32x768xf32>) -> tensor<32x768xf32>
  %1 = dlc.reduce_mean %0 {axes = array<i64: 1>, keepdims} : (tensor<32x768xf32>) -> tensor<32x1xf32>
  %2 = dlc.rsqrt %1 : (tensor<32x1xf32>) -> tensor<32x1xf32>
  %p = dlc.matmul %2, %w by = library : (tensor<32x1xf32>, tensor<1x768xf32>) -> tensor<32x768xf32>
  %3 = dlc.mul %p, %2 : (tensor<32x768xf32>, tensor<32x1xf32>) -> tensor<32x768xf32>
  return %3 : tensor<32x768xf32>
}

// -----
// Nor few long rows, which would leave threads idle.
// CHECK-LABEL: func @few_rows
// CHECK-COUNT-2: dlc.fused
func.func @few_rows(%x: tensor<4x65536xf32>) -> tensor<4x65536xf32> {
  %0 = dlc.mul %x, %x : (tensor<4x65536xf32>, tensor<4x65536xf32>) -> tensor<4x65536xf32>
  %1 = dlc.reduce_mean %0 {axes = array<i64: 1>, keepdims} : (tensor<4x65536xf32>) -> tensor<4x1xf32>
  %2 = dlc.rsqrt %1 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %3 = dlc.mul %x, %2 : (tensor<4x65536xf32>, tensor<4x1xf32>) -> tensor<4x65536xf32>
  return %3 : tensor<4x65536xf32>
}

// -----
// A loss of rows and its gradient read the logits once: what the mean, which only the function returns, is made of comes from
// the kernel of the gradient.
// CHECK-LABEL: func @cross_entropy
// CHECK: %[[F:.*]]:3 = dlc.fused(%arg0, %arg1) : (tensor<64x512xbf16>, tensor<64x1xi32>) -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x512xbf16>)
// CHECK: dlc.reduce_max
// CHECK-COUNT-2: dlc.reduce_sum
// CHECK: dlc.yield
// CHECK: dlc.fused(%[[F]]#0, %[[F]]#1) : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<1x1xf32>
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dlc.sub
// CHECK-NEXT: dlc.reduce_mean
// CHECK: dlc.matmul %[[F]]#2
// CHECK-NOT: dlc.fused
// KEEP-LABEL: func @cross_entropy
// KEEP: dlc.reduce_max
// KEEP: dlc.reduce_mean
// KEEP: dlc.matmul
// KEEP-NOT: dlc.fused
func.func @cross_entropy(%x: tensor<64x512xbf16>, %labels: tensor<64x1xi32>, %w: tensor<512x8xbf16>) -> (tensor<64x8xbf16>, tensor<1x1xf32>) {
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %one = dlc.constant dense<1.0> : tensor<f32>
  %share = dlc.constant dense<0.015625> : tensor<f32>
  %classes = dlc.iota {axis = 1} : () -> tensor<64x512xi32>
  %0 = dlc.cast %x : (tensor<64x512xbf16>) -> tensor<64x512xf32>
  %max = dlc.reduce_max %0 {axes = array<i64: 1>, keepdims} : (tensor<64x512xf32>) -> tensor<64x1xf32>
  %1 = dlc.sub %0, %max : (tensor<64x512xf32>, tensor<64x1xf32>) -> tensor<64x512xf32>
  %2 = dlc.exp %1 : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %3 = dlc.reduce_sum %2 {axes = array<i64: 1>, keepdims} : (tensor<64x512xf32>) -> tensor<64x1xf32>
  %log = dlc.log %3 : (tensor<64x1xf32>) -> tensor<64x1xf32>
  %hit = dlc.compare eq %classes, %labels : (tensor<64x512xi32>, tensor<64x1xi32>) -> tensor<64x512xi1>
  %4 = dlc.select %hit, %1, %zero : (tensor<64x512xi1>, tensor<64x512xf32>, tensor<f32>) -> tensor<64x512xf32>
  %picked = dlc.reduce_sum %4 {axes = array<i64: 1>, keepdims} : (tensor<64x512xf32>) -> tensor<64x1xf32>
  %loss = dlc.sub %log, %picked : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %lse = dlc.add %max, %log : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x1xf32>
  %mean = dlc.reduce_mean %loss {axes = array<i64: 0>, keepdims} : (tensor<64x1xf32>) -> tensor<1x1xf32>
  %5 = dlc.sub %0, %lse : (tensor<64x512xf32>, tensor<64x1xf32>) -> tensor<64x512xf32>
  %6 = dlc.exp %5 : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %7 = dlc.sub %6, %one : (tensor<64x512xf32>, tensor<f32>) -> tensor<64x512xf32>
  %8 = dlc.select %hit, %7, %6 : (tensor<64x512xi1>, tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
  %9 = dlc.mul %8, %share : (tensor<64x512xf32>, tensor<f32>) -> tensor<64x512xf32>
  %d = dlc.cast %9 : (tensor<64x512xf32>) -> tensor<64x512xbf16>
  %p = dlc.matmul %d, %w by = library : (tensor<64x512xbf16>, tensor<512x8xbf16>) -> tensor<64x8xbf16>
  return %p, %mean : tensor<64x8xbf16>, tensor<1x1xf32>
}
