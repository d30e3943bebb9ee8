// RUN: %dlc-opt %s --dlc-trim-taps | FileCheck %s

// Only the middle tap of 3x3 reads a pixel of 8x8 at a dilation of 12.
// CHECK-LABEL: @middle
// CHECK-NEXT: [[W:%.*]] = dlc.slice %arg1 {sizes = array<i64: 6, 4, 1, 1>, starts = array<i64: 0, 0, 1, 1>, steps = array<i64: 1, 1, 1, 1>}
// CHECK-NEXT: dlc.conv %arg0, [[W]] {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>}
// CHECK-SAME: (tensor<2x4x8x8xf32>, tensor<6x4x1x1xf32>) -> tensor<2x6x8x8xf32>
func.func @middle(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<2x6x8x8xf32> {
  %y = dlc.conv %x, %w {dilations = array<i64: 12, 12>, pads = array<i64: 12, 12, 12, 12>, strides = array<i64: 1, 1>}
      : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x8x8xf32>
  return %y : tensor<2x6x8x8xf32>
}

// Along the first dimension, the first of three taps reads padding only; all are read along the second.
// CHECK-LABEL: @first
// CHECK-NEXT: [[W:%.*]] = dlc.slice %arg1 {sizes = array<i64: 6, 4, 2, 3>, starts = array<i64: 0, 0, 1, 0>, steps = array<i64: 1, 1, 1, 1>}
// CHECK-NEXT: dlc.conv %arg0, [[W]] {dilations = array<i64: 3, 1>, pads = array<i64: 0, 1, 0, 1>, strides = array<i64: 1, 1>}
// CHECK-SAME: (tensor<2x4x4x8xf32>, tensor<6x4x2x3xf32>) -> tensor<2x6x1x8xf32>
func.func @first(%x: tensor<2x4x4x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<2x6x1x8xf32> {
  %y = dlc.conv %x, %w {dilations = array<i64: 3, 1>, pads = array<i64: 3, 1, 0, 1>, strides = array<i64: 1, 1>}
      : (tensor<2x4x4x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x1x8xf32>
  return %y : tensor<2x6x1x8xf32>
}

// Each tap reads a pixel; padding would be negative; no tap reads a pixel.
// CHECK-LABEL: @kept
// CHECK-NOT: slice
// CHECK: return
func.func @kept(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %v: tensor<2x4x6xf32>, %f: tensor<3x4x3xf32>, %g: tensor<3x4x1xf32>)
    -> (tensor<2x6x8x8xf32>, tensor<2x3x1xf32>, tensor<2x3x2xf32>) {
  %y = dlc.conv %x, %w {dilations = array<i64: 7, 7>, pads = array<i64: 7, 7, 7, 7>, strides = array<i64: 1, 1>}
      : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x8x8xf32>
  %s = dlc.conv %v, %f {dilations = array<i64: 5>, pads = array<i64: 4, 1>, strides = array<i64: 1>}
      : (tensor<2x4x6xf32>, tensor<3x4x3xf32>) -> tensor<2x3x1xf32>
  %t = dlc.conv %v, %g {dilations = array<i64: 1>, pads = array<i64: 7, 7>, strides = array<i64: 19>}
      : (tensor<2x4x6xf32>, tensor<3x4x1xf32>) -> tensor<2x3x2xf32>
  return %y, %s, %t : tensor<2x6x8x8xf32>, tensor<2x3x1xf32>, tensor<2x3x2xf32>
}
