// Training batch norm where no library has it: statistics, their last stage
// with the running ones, and a formula that fuses with what follows.
// RUN: %dlc-opt %s --dlc-decompose | FileCheck %s --check-prefix=KEPT
// RUN: %dlc-opt %s --pass-pipeline='builtin.module(dlc-place,func.func(dlc-decompose),canonicalize,cse,func.func(dlc-fuse{repeat=true}))' | FileCheck %s

// KEPT-LABEL: func @forward
// KEPT: dlc.batch_norm
// CHECK-LABEL: func @forward
// The 2048 rows are cut into 64 parts; a part's pivot is its first row.
// CHECK: %[[X:.*]] = dlc.reshape %arg0 : (tensor<8x16x16x32xbf16>) -> tensor<64x32x32xbf16>
// CHECK: %[[PARTS:.*]]:2 = dlc.fused(%[[X]])
// CHECK: dlc.slice {{.*}} -> tensor<64x1x32xbf16>
// CHECK-COUNT-2: dlc.reduce_sum {{.*}}axes = array<i64: 1>
// CHECK: dlc.yield {{.*}} : tensor<64x1x32xf32>, tensor<64x1x32xf32>
// CHECK: dlc.fused(%[[PARTS]]#0, %[[PARTS]]#1
// CHECK-COUNT-3: dlc.reduce_sum {{.*}}axes = array<i64: 0>
// CHECK: dlc.fused(%arg0, {{.*}}%arg1
// CHECK-NOT: dlc.reduce
// CHECK: dlc.add
// CHECK: dlc.relu
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @forward(%x: tensor<8x16x16x32xbf16>, %r: tensor<8x16x16x32xbf16>, %s: tensor<32xf32>, %b: tensor<32xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) -> (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %y:5 = dlc.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc", unbiased} : (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %a = dlc.add %y#0, %r : (tensor<8x16x16x32xbf16>, tensor<8x16x16x32xbf16>) -> tensor<8x16x16x32xbf16>
  %z = dlc.relu %a : (tensor<8x16x16x32xbf16>) -> tensor<8x16x16x32xbf16>
  return %z, %y#1, %y#2 : tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>
}

// The mask of a ReLU behind a norm is computed from x, which is read anyway,
// not read: both kernels see x and the gradient only.
// KEPT-LABEL: func @backward
// KEPT: dlc.batch_norm_backward
// CHECK-LABEL: func @backward
// CHECK: dlc.fused
// CHECK: %[[Z:.*]] = dlc.fused(%arg0, {{.*}} -> tensor<8x16x16x32xbf16>
// CHECK: %[[DZ:.*]] = dlc.conv
// CHECK: %[[G:.*]] = dlc.reshape %[[DZ]]
// CHECK: dlc.fused
// CHECK-SAME: %[[G]]
// CHECK-NOT: %[[Z]]
// CHECK: dlc.compare le
// CHECK-COUNT-2: dlc.reduce_sum {{.*}}axes = array<i64: 1>
// CHECK: dlc.fused
// CHECK-COUNT-2: dlc.reduce_sum {{.*}}axes = array<i64: 0>
// CHECK: dlc.fused
// CHECK-SAME: %[[G]]
// CHECK-NOT: %[[Z]]
// CHECK-NOT: dlc.reduce
// CHECK: dlc.compare le
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @backward(%x: tensor<8x16x16x32xbf16>, %w: tensor<32x32x1x1xbf16>, %s: tensor<32xf32>, %b: tensor<32xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) -> (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %zero = dlc.constant dense<0.0> : tensor<bf16>
  %y:5 = dlc.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, layout = "nhwc", unbiased} : (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  %z = dlc.relu %y#0 : (tensor<8x16x16x32xbf16>) -> tensor<8x16x16x32xbf16>
  %dz = dlc.conv %z, %w {dilations = array<i64: 1, 1>, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<8x16x16x32xbf16>, tensor<32x32x1x1xbf16>) -> tensor<8x16x16x32xbf16>
  %off = dlc.compare le %z, %zero : (tensor<8x16x16x32xbf16>, tensor<bf16>) -> tensor<8x16x16x32xi1>
  %dy = dlc.select %off, %zero, %dz : (tensor<8x16x16x32xi1>, tensor<bf16>, tensor<8x16x16x32xbf16>) -> tensor<8x16x16x32xbf16>
  %g:3 = dlc.batch_norm_backward %dy, %x, %s, %y#3, %y#4 {epsilon = 1.0e-5 : f64, layout = "nhwc"} : (tensor<8x16x16x32xbf16>, tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>)
  return %g#0, %g#1, %g#2 : tensor<8x16x16x32xbf16>, tensor<32xf32>, tensor<32xf32>
}
