// RUN: %dlc-opt %s --dlc-fuse --dlc-store-summed --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse --dlc-store-summed --dlc-plan-memory --dlc-schedule-kernels --split-input-file | FileCheck %s --check-prefix=KERNEL

// A masked gradient that the sums read as other rows of the same columns, and a product as it was: one cluster computes,
// adds and stores it. The view that the last kernel reads is the sums' own result.
// CHECK-LABEL: func @regrouped
// CHECK: dlc.reshape %arg0 : (tensor<16x8x8x32xbf16>) -> tensor<32x32x32xbf16>
// CHECK: dlc.reshape %arg3 : (tensor<32xbf16>) -> tensor<1x1x32xbf16>
// CHECK: dlc.reshape %arg1
// CHECK: %[[S:.*]]:2 = dlc.fused
// CHECK-NEXT: ^bb0(%[[G:.*]]: tensor<32x32x32xbf16>, %[[B:.*]]: tensor<1x1x32xbf16>, %[[Y:.*]]: tensor<32x32x32xbf16>):
// CHECK: dlc.add %[[G]], %[[B]]
// CHECK: %[[D:.*]] = dlc.select {{.*}} -> tensor<32x32x32xbf16>
// CHECK: %[[F:.*]] = dlc.cast %[[D]]
// CHECK: %[[SUM:.*]] = dlc.reduce_sum %[[F]]
// CHECK: dlc.yield %[[SUM]], %[[D]] :
// CHECK: %[[BACK:.*]] = dlc.reshape %[[S]]#1 : (tensor<32x32x32xbf16>) -> tensor<16x8x8x32xbf16>
// CHECK: dlc.matmul
// CHECK: dlc.fused(%[[S]]#1, %[[S]]#0
// CHECK: dlc.fused(%[[BACK]])
// KERNEL: exec.launch @[[SUMS:k[0-9a-z_]+]] ins({{.*}}) outs({{.*}} : memref<32x1x32xf32>, memref<32x32x32xbf16>)
// KERNEL: exec.kernel @[[SUMS]] schedule = #exec.schedule<columns
func.func @regrouped(%g: tensor<16x8x8x32xbf16>, %y: tensor<16x8x8x32xbf16>, %w: tensor<32x32xbf16>, %b: tensor<32xbf16>)
    -> (tensor<32x32x32xbf16>, tensor<16x8x8x32xf32>, tensor<32x32xbf16>) {
  %zero = dlc.constant dense<0.0> : tensor<bf16>
  %0 = dlc.add %g, %b : (tensor<16x8x8x32xbf16>, tensor<32xbf16>) -> tensor<16x8x8x32xbf16>
  %1 = dlc.compare le %y, %zero : (tensor<16x8x8x32xbf16>, tensor<bf16>) -> tensor<16x8x8x32xi1>
  %d = dlc.select %1, %zero, %0 : (tensor<16x8x8x32xi1>, tensor<bf16>, tensor<16x8x8x32xbf16>) -> tensor<16x8x8x32xbf16>
  %v = dlc.reshape %d : (tensor<16x8x8x32xbf16>) -> tensor<32x32x32xbf16>
  %f = dlc.cast %v : (tensor<32x32x32xbf16>) -> tensor<32x32x32xf32>
  %s = dlc.reduce_sum %f {axes = array<i64: 1>, keepdims} : (tensor<32x32x32xf32>) -> tensor<32x1x32xf32>
  %m = dlc.matmul %w, %w by = library : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16>
  %a = dlc.cast %v : (tensor<32x32x32xbf16>) -> tensor<32x32x32xf32>
  %c = dlc.sub %a, %s : (tensor<32x32x32xf32>, tensor<32x1x32xf32>) -> tensor<32x32x32xf32>
  %h = dlc.cast %c : (tensor<32x32x32xf32>) -> tensor<32x32x32xbf16>
  %e = dlc.cast %d : (tensor<16x8x8x32xbf16>) -> tensor<16x8x8x32xf32>
  %n = dlc.exp %e : (tensor<16x8x8x32xf32>) -> tensor<16x8x8x32xf32>
  return %h, %n, %m : tensor<32x32x32xbf16>, tensor<16x8x8x32xf32>, tensor<32x32xbf16>
}

// -----
// What a library reads ahead of the sums has to be there before.
// CHECK-LABEL: func @needed_before
// CHECK: dlc.fused(%arg0)
// CHECK: dlc.matmul
// CHECK: dlc.fused(%{{[0-9]+}}, %{{[0-9]+}})
// CHECK: dlc.reduce_sum
// CHECK: dlc.yield %{{[0-9]+}} : tensor<128xf32>
// KERNEL: exec.program @needed_before
func.func @needed_before(%x: tensor<128x128xf32>) -> (tensor<128xf32>, tensor<128x128xf32>) {
  %y = dlc.exp %x : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %m = dlc.matmul %y, %y by = library : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %p = dlc.mul %m, %y : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %s = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<128x128xf32>) -> tensor<128xf32>
  return %s, %y : tensor<128xf32>, tensor<128x128xf32>
}

// -----
// A pivot is another element than the one that is added: it must lie in memory. A value for each pixel is none of a column.
// CHECK-LABEL: func @others
// CHECK-COUNT-4: dlc.fused
// KERNEL: exec.program @others
func.func @others(%x: tensor<64x64x32xf32>, %pixel: tensor<64x1x32xf32>) -> (tensor<32xf32>, tensor<64x64x32xf32>, tensor<32x1x32xf32>, tensor<64x64x32xf32>) {
  %y = dlc.exp %x : (tensor<64x64x32xf32>) -> tensor<64x64x32xf32>
  %first = dlc.slice %y {starts = array<i64: 0, 0, 0>, sizes = array<i64: 64, 1, 32>, steps = array<i64: 1, 1, 1>} : (tensor<64x64x32xf32>) -> tensor<64x1x32xf32>
  %c = dlc.sub %y, %first : (tensor<64x64x32xf32>, tensor<64x1x32xf32>) -> tensor<64x64x32xf32>
  %s = dlc.reduce_sum %c {axes = array<i64: 0, 1>} : (tensor<64x64x32xf32>) -> tensor<32xf32>
  %z = dlc.mul %x, %pixel : (tensor<64x64x32xf32>, tensor<64x1x32xf32>) -> tensor<64x64x32xf32>
  %v = dlc.reshape %z : (tensor<64x64x32xf32>) -> tensor<32x128x32xf32>
  %t = dlc.reduce_sum %v {axes = array<i64: 1>, keepdims} : (tensor<32x128x32xf32>) -> tensor<32x1x32xf32>
  return %s, %y, %t, %z : tensor<32xf32>, tensor<64x64x32xf32>, tensor<32x1x32xf32>, tensor<64x64x32xf32>
}

// -----
// Sums of nothing else move ahead of a library's reading, with the view that they read.
// CHECK-LABEL: func @summed_first
// CHECK: %[[V:.*]] = dlc.reshape %arg0 : (tensor<128x128xf32>) -> tensor<4x32x128xf32>
// CHECK: %[[S:.*]]:2 = dlc.fused(%[[V]])
// CHECK: dlc.neg
// CHECK: dlc.reduce_sum
// CHECK: %[[Y:.*]] = dlc.reshape %[[S]]#1
// CHECK: dlc.matmul %[[Y]], %[[Y]]
// CHECK-NOT: dlc.fused
// KERNEL: exec.program @summed_first
func.func @summed_first(%x: tensor<128x128xf32>) -> (tensor<4x1x128xf32>, tensor<128x128xf32>) {
  %y = dlc.neg %x : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %m = dlc.matmul %y, %y by = library : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %v = dlc.reshape %y : (tensor<128x128xf32>) -> tensor<4x32x128xf32>
  %s = dlc.reduce_sum %v {axes = array<i64: 1>, keepdims} : (tensor<4x32x128xf32>) -> tensor<4x1x128xf32>
  return %s, %m : tensor<4x1x128xf32>, tensor<128x128xf32>
}

// -----
// Not a costly function: column sums have fewer threads than it needs.
// CHECK-LABEL: func @costly
// CHECK: dlc.fused(%arg0)
// CHECK: dlc.exp
// CHECK: dlc.matmul
// CHECK: dlc.fused
// CHECK: dlc.reduce_sum
// KERNEL: exec.program @costly
func.func @costly(%x: tensor<128x128xf32>) -> (tensor<128xf32>, tensor<128x128xf32>) {
  %y = dlc.exp %x : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %m = dlc.matmul %y, %y by = library : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %s = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<128x128xf32>) -> tensor<128xf32>
  return %s, %m : tensor<128xf32>, tensor<128x128xf32>
}

// -----
// Clusters that move pixels (spread-gradients.mlir) stay apart if they move columns, too, if the sums read an input of theirs
// through another view, and if they have as many moves as a pooling window has taps.
// CHECK-LABEL: func @moved_columns
// CHECK-COUNT-2: dlc.fused
// KERNEL: exec.program @moved_columns
func.func @moved_columns(%x: tensor<128x24xf32>, %g: tensor<128x32xf32>) -> (tensor<4x1x32xf32>, tensor<128x32xf32>) {
  %p = dlc.pad %x {high = array<i64: 0, 8>, interior = array<i64: 0, 0>, low = array<i64: 0, 0>, value = 0.0 : f64} : (tensor<128x24xf32>) -> tensor<128x32xf32>
  %y = dlc.add %p, %g : (tensor<128x32xf32>, tensor<128x32xf32>) -> tensor<128x32xf32>
  %v = dlc.reshape %y : (tensor<128x32xf32>) -> tensor<4x32x32xf32>
  %s = dlc.reduce_sum %v {axes = array<i64: 1>, keepdims} : (tensor<4x32x32xf32>) -> tensor<4x1x32xf32>
  return %s, %y : tensor<4x1x32xf32>, tensor<128x32xf32>
}

// -----
// CHECK-LABEL: func @read_twice
// CHECK-COUNT-2: dlc.fused
// KERNEL: exec.program @read_twice
func.func @read_twice(%x: tensor<16x8x8x32xf32>, %d: tensor<16x4x4x32xf32>) -> (tensor<16x1x32xf32>, tensor<16x8x8x32xf32>) {
  %p = dlc.pad %d {high = array<i64: 0, 1, 1, 0>, interior = array<i64: 0, 1, 1, 0>, low = array<i64: 0, 0, 0, 0>, value = 0.0 : f64} : (tensor<16x4x4x32xf32>) -> tensor<16x8x8x32xf32>
  %y = dlc.add %p, %x : (tensor<16x8x8x32xf32>, tensor<16x8x8x32xf32>) -> tensor<16x8x8x32xf32>
  %v = dlc.reshape %y : (tensor<16x8x8x32xf32>) -> tensor<16x64x32xf32>
  %w = dlc.reshape %x : (tensor<16x8x8x32xf32>) -> tensor<16x64x32xf32>
  %m = dlc.mul %v, %w : (tensor<16x64x32xf32>, tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
  %s = dlc.reduce_sum %m {axes = array<i64: 1>, keepdims} : (tensor<16x64x32xf32>) -> tensor<16x1x32xf32>
  return %s, %y : tensor<16x1x32xf32>, tensor<16x8x8x32xf32>
}

// -----
// CHECK-LABEL: func @taps
// CHECK-COUNT-2: dlc.fused
// KERNEL: exec.program @taps
func.func @taps(%x: tensor<16x68x32xf32>) -> (tensor<8x1x32xf32>, tensor<16x64x32xf32>) {
  %a = dlc.slice %x {starts = array<i64: 0, 0, 0>, sizes = array<i64: 16, 64, 32>, steps = array<i64: 1, 1, 1>} : (tensor<16x68x32xf32>) -> tensor<16x64x32xf32>
  %b = dlc.slice %x {starts = array<i64: 0, 1, 0>, sizes = array<i64: 16, 64, 32>, steps = array<i64: 1, 1, 1>} : (tensor<16x68x32xf32>) -> tensor<16x64x32xf32>
  %c = dlc.slice %x {starts = array<i64: 0, 2, 0>, sizes = array<i64: 16, 64, 32>, steps = array<i64: 1, 1, 1>} : (tensor<16x68x32xf32>) -> tensor<16x64x32xf32>
  %d = dlc.slice %x {starts = array<i64: 0, 3, 0>, sizes = array<i64: 16, 64, 32>, steps = array<i64: 1, 1, 1>} : (tensor<16x68x32xf32>) -> tensor<16x64x32xf32>
  %e = dlc.slice %x {starts = array<i64: 0, 4, 0>, sizes = array<i64: 16, 64, 32>, steps = array<i64: 1, 1, 1>} : (tensor<16x68x32xf32>) -> tensor<16x64x32xf32>
  %0 = dlc.add %a, %b : (tensor<16x64x32xf32>, tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
  %1 = dlc.add %0, %c : (tensor<16x64x32xf32>, tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
  %2 = dlc.add %1, %d : (tensor<16x64x32xf32>, tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
  %y = dlc.add %2, %e : (tensor<16x64x32xf32>, tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
  %v = dlc.reshape %y : (tensor<16x64x32xf32>) -> tensor<8x128x32xf32>
  %s = dlc.reduce_sum %v {axes = array<i64: 1>, keepdims} : (tensor<8x128x32xf32>) -> tensor<8x1x32xf32>
  return %s, %y : tensor<8x1x32xf32>, tensor<16x64x32xf32>
}
