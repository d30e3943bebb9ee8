// Norms of images by groups of channels follow the images: no element moves.
// RUN: %dlc-opt %s --pass-pipeline='builtin.module(func.func(dlc-layout),canonicalize)' --split-input-file | FileCheck %s

// Means over pixels, then over the 3 channels of a group.
// CHECK-LABEL: func.func @group
// CHECK: %[[X:.*]] = dlc.avg_pool {{.*}} -> tensor<2x4x5x6xf32>
// CHECK-NOT: dlc.transpose
// CHECK: %[[P:.*]] = dlc.reduce_mean %[[X]] {axes = array<i64: 1, 2>, keepdims} : (tensor<2x4x5x6xf32>) -> tensor<2x1x1x6xf32>
// CHECK: %[[C:.*]] = dlc.reshape %[[P]] : (tensor<2x1x1x6xf32>) -> tensor<2x2x3xf32>
// CHECK: %[[M:.*]] = dlc.reduce_mean %[[C]] {axes = array<i64: 2>, keepdims} : (tensor<2x2x3xf32>) -> tensor<2x2x1xf32>
// CHECK: %[[B:.*]] = dlc.broadcast %[[M]] : (tensor<2x2x1xf32>) -> tensor<2x2x3xf32>
// CHECK: %[[S:.*]] = dlc.reshape %[[B]] : (tensor<2x2x3xf32>) -> tensor<2x1x1x6xf32>
// CHECK: dlc.sub %[[X]], %[[S]]
// CHECK: %[[R:.*]] = dlc.rsqrt {{.*}} : (tensor<2x2x1xf32>)
// CHECK-NOT: dlc.layer_norm
// CHECK: %[[Y:.*]] = dlc.avg_pool {{.*}}layout = "nhwc"
// CHECK: return {{.*}}, %[[M]], %[[R]]
func.func @group(%x: tensor<2x6x4x5xf32>) -> (tensor<2x6x4x5xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>) {
  %one = dlc.constant dense<1.0> : tensor<f32>
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %a = dlc.avg_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  %r = dlc.reshape %a : (tensor<2x6x4x5xf32>) -> tensor<2x2x60xf32>
  %s = dlc.broadcast %one : (tensor<f32>) -> tensor<60xf32>
  %b = dlc.broadcast %zero : (tensor<f32>) -> tensor<60xf32>
  %n:3 = dlc.layer_norm %r, %s, %b {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x2x60xf32>, tensor<60xf32>, tensor<60xf32>) -> (tensor<2x2x60xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>)
  %y = dlc.reshape %n#0 : (tensor<2x2x60xf32>) -> tensor<2x6x4x5xf32>
  %z = dlc.avg_pool %y {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  return %z, %n#1, %n#2 : tensor<2x6x4x5xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>
}

// -----

// The gradient, behind the same reshapes.
// CHECK-LABEL: func.func @backward
// CHECK: dlc.avg_pool {{.*}} -> tensor<2x4x5x6xf32>
// CHECK-NOT: dlc.transpose
// CHECK: dlc.reduce_mean {{.*}} {axes = array<i64: 1, 2>, keepdims} : (tensor<2x4x5x6xf32>) -> tensor<2x1x1x6xf32>
// CHECK: dlc.reduce_mean {{.*}} {axes = array<i64: 1, 2>, keepdims} : (tensor<2x4x5x6xf32>) -> tensor<2x1x1x6xf32>
// CHECK-NOT: dlc.layer_norm
// CHECK: dlc.conv_backward_filter {{.*}}layout = "nhwc"
func.func @backward(%x: tensor<2x6x4x5xf32>, %m: tensor<2x2x1xf32>, %w: tensor<2x6x4x5xf32>) -> tensor<6x6x1x1xf32> {
  %one = dlc.constant dense<1.0> : tensor<f32>
  %a = dlc.avg_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  %r = dlc.reshape %a : (tensor<2x6x4x5xf32>) -> tensor<2x2x60xf32>
  %g = dlc.mul %a, %w : (tensor<2x6x4x5xf32>, tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  %dy = dlc.reshape %g : (tensor<2x6x4x5xf32>) -> tensor<2x2x60xf32>
  %s = dlc.broadcast %one : (tensor<f32>) -> tensor<60xf32>
  %n:3 = dlc.layer_norm_backward %dy, %r, %s, %m, %m {axis = 2 : i64} : (tensor<2x2x60xf32>, tensor<2x2x60xf32>, tensor<60xf32>, tensor<2x2x1xf32>, tensor<2x2x1xf32>) -> (tensor<2x2x60xf32>, tensor<60xf32>, tensor<60xf32>)
  %dx = dlc.reshape %n#0 : (tensor<2x2x60xf32>) -> tensor<2x6x4x5xf32>
  %dw = dlc.conv_backward_filter %x, %dx {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x6x4x5xf32>, tensor<2x6x4x5xf32>) -> tensor<6x6x1x1xf32>
  return %dw : tensor<6x6x1x1xf32>
}

// -----

// Instance norm: a group is a channel.
// CHECK-LABEL: func.func @instance
// CHECK: dlc.reduce_mean {{.*}} {axes = array<i64: 1, 2>, keepdims} : (tensor<2x4x5x6xf32>) -> tensor<2x1x1x6xf32>
// CHECK-NOT: dlc.layer_norm
func.func @instance(%x: tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32> {
  %one = dlc.constant dense<1.0> : tensor<f32>
  %a = dlc.avg_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  %s = dlc.broadcast %one : (tensor<f32>) -> tensor<4x5xf32>
  %n:3 = dlc.layer_norm %a, %s, %s {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x6x4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) -> (tensor<2x6x4x5xf32>, tensor<2x6x1x1xf32>, tensor<2x6x1x1xf32>)
  return %n#0 : tensor<2x6x4x5xf32>
}

// -----

// A scale for each element of a row, and rows of no image, stay layer norms.
// CHECK-LABEL: func.func @rows
// CHECK-COUNT-2: dlc.layer_norm
func.func @rows(%x: tensor<2x6x4x5xf32>, %w: tensor<4x5xf32>, %t: tensor<2x6x20xf32>) -> (tensor<2x6x4x5xf32>, tensor<2x6x20xf32>) {
  %one = dlc.constant dense<1.0> : tensor<f32>
  %a = dlc.avg_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x6x4x5xf32>) -> tensor<2x6x4x5xf32>
  %n:3 = dlc.layer_norm %a, %w, %w {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x6x4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) -> (tensor<2x6x4x5xf32>, tensor<2x6x1x1xf32>, tensor<2x6x1x1xf32>)
  %s = dlc.broadcast %one : (tensor<f32>) -> tensor<20xf32>
  %m:3 = dlc.layer_norm %t, %s, %s {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x6x20xf32>, tensor<20xf32>, tensor<20xf32>) -> (tensor<2x6x20xf32>, tensor<2x6x1xf32>, tensor<2x6x1xf32>)
  return %n#0, %m#0 : tensor<2x6x4x5xf32>, tensor<2x6x20xf32>
}
