// RUN: %dlc-opt %s --dlc-spread-gradients --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-spread-gradients --dlc-fuse=few --dlc-store-summed --split-input-file | FileCheck %s --check-prefix=FUSED

// The gradient of a 1x1 convolution with stride 2 is computed for the pixels that it read; the addition spreads them, and the
// last row and column of 10, which no window reads, are 0, too. The column sums that view the result run in the same kernel.
// CHECK-LABEL: func @branches
// CHECK: %[[D:.*]] = dlc.conv_backward_data %arg0, %arg1 {{.*}}strides = array<i64: 1, 1>} : (tensor<16x5x5x32xbf16>, tensor<32x1x1x64xbf16>) -> tensor<16x5x5x64xbf16>
// CHECK: %[[P:.*]] = dlc.pad %[[D]] {high = array<i64: 0, 1, 1, 0>, interior = array<i64: 0, 1, 1, 0>, low = array<i64: 0, 0, 0, 0>, value = 0.000000e+00 : f64} : (tensor<16x5x5x64xbf16>) -> tensor<16x10x10x64xbf16>
// CHECK: dlc.add %arg2, %[[P]]
// FUSED-LABEL: func @branches
// FUSED: %[[D:.*]] = dlc.conv_backward_data
// FUSED: %[[S:.*]]:2 = dlc.fused({{.*}}%[[D]]
// FUSED: dlc.pad
// FUSED: dlc.add
// FUSED: dlc.reshape {{.*}} : (tensor<16x10x10x64xbf16>) -> tensor<16x100x64xbf16>
// FUSED: dlc.reduce_sum
// FUSED-NOT: dlc.fused
// FUSED: %[[Y:.*]] = dlc.reshape %[[S]]#1 : (tensor<16x100x64xbf16>) -> tensor<16x10x10x64xbf16>
// FUSED: return %[[Y]], %[[S]]#0
func.func @branches(%dy: tensor<16x5x5x32xbf16>, %w: tensor<32x1x1x64xbf16>, %other: tensor<16x10x10x64xbf16>) -> (tensor<16x10x10x64xbf16>, tensor<16x1x64xf32>) {
  %d = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<16x5x5x32xbf16>, tensor<32x1x1x64xbf16>) -> tensor<16x10x10x64xbf16>
  %y = dlc.add %other, %d : (tensor<16x10x10x64xbf16>, tensor<16x10x10x64xbf16>) -> tensor<16x10x10x64xbf16>
  %v = dlc.reshape %y : (tensor<16x10x10x64xbf16>) -> tensor<16x100x64xbf16>
  %f = dlc.cast %v : (tensor<16x100x64xbf16>) -> tensor<16x100x64xf32>
  %s = dlc.reduce_sum %f {axes = array<i64: 1>, keepdims} : (tensor<16x100x64xf32>) -> tensor<16x1x64xf32>
  return %y, %s : tensor<16x10x10x64xbf16>, tensor<16x1x64xf32>
}

// -----
// Channels first, along one dimension, and strides that differ.
// CHECK-LABEL: func @others
// CHECK: dlc.conv_backward_data {{.*}}strides = array<i64: 1>} {{.*}} -> tensor<2x8x5xf32>
// CHECK: dlc.pad {{.*}}high = array<i64: 0, 0, 2>, interior = array<i64: 0, 0, 2>
// CHECK: dlc.conv_backward_data {{.*}}strides = array<i64: 1, 1>} {{.*}} -> tensor<2x8x7x5xf32>
// CHECK: dlc.pad {{.*}}high = array<i64: 0, 0, 0, 0>, interior = array<i64: 0, 0, 0, 1>
func.func @others(%dy: tensor<2x4x5xf32>, %w: tensor<4x8x1xf32>, %e: tensor<2x4x7x5xf32>, %u: tensor<4x8x1x1xf32>) -> (tensor<2x8x15xf32>, tensor<2x8x7x9xf32>) {
  %d = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 3>} : (tensor<2x4x5xf32>, tensor<4x8x1xf32>) -> tensor<2x8x15xf32>
  %0 = dlc.neg %d : (tensor<2x8x15xf32>) -> tensor<2x8x15xf32>
  %c = dlc.conv_backward_data %e, %u {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 2>} : (tensor<2x4x7x5xf32>, tensor<4x8x1x1xf32>) -> tensor<2x8x7x9xf32>
  %1 = dlc.neg %c : (tensor<2x8x7x9xf32>) -> tensor<2x8x7x9xf32>
  return %0, %1 : tensor<2x8x15xf32>, tensor<2x8x7x9xf32>
}

// -----
// Windows of several elements, padding, stride 1, and a gradient that a library call, several ops or nothing elementwise reads.
// CHECK-LABEL: func @kept
// CHECK-NOT: dlc.pad
// CHECK: return
func.func @kept(%dy: tensor<2x4x5xf32>, %w3: tensor<4x8x3xf32>, %w: tensor<4x8x1xf32>, %x: tensor<8x8x1xf32>) -> (tensor<2x8x11xf32>, tensor<2x8x7xf32>, tensor<2x8x5xf32>, tensor<2x8x9xf32>, tensor<2x8x9xf32>, tensor<2x8x9xf32>) {
  %a = dlc.conv_backward_data %dy, %w3 {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 2>} : (tensor<2x4x5xf32>, tensor<4x8x3xf32>) -> tensor<2x8x11xf32>
  %0 = dlc.neg %a : (tensor<2x8x11xf32>) -> tensor<2x8x11xf32>
  %b = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1>, pads = array<i64: 1, 1>, strides = array<i64: 2>} : (tensor<2x4x5xf32>, tensor<4x8x1xf32>) -> tensor<2x8x7xf32>
  %1 = dlc.neg %b : (tensor<2x8x7xf32>) -> tensor<2x8x7xf32>
  %c = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<2x4x5xf32>, tensor<4x8x1xf32>) -> tensor<2x8x5xf32>
  %2 = dlc.neg %c : (tensor<2x8x5xf32>) -> tensor<2x8x5xf32>
  %d = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 2>} : (tensor<2x4x5xf32>, tensor<4x8x1xf32>) -> tensor<2x8x9xf32>
  %3 = dlc.conv %d, %x {dilations = array<i64: 1>, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<2x8x9xf32>, tensor<8x8x1xf32>) -> tensor<2x8x9xf32>
  %e = dlc.conv_backward_data %dy, %w {dilations = array<i64: 2>, pads = array<i64: 0, 0>, strides = array<i64: 2>} : (tensor<2x4x5xf32>, tensor<4x8x1xf32>) -> tensor<2x8x9xf32>
  %4 = dlc.neg %e : (tensor<2x8x9xf32>) -> tensor<2x8x9xf32>
  return %0, %1, %2, %3, %4, %e : tensor<2x8x11xf32>, tensor<2x8x7xf32>, tensor<2x8x5xf32>, tensor<2x8x9xf32>, tensor<2x8x9xf32>, tensor<2x8x9xf32>
}
