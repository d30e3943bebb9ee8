// Images become channels last from one end of the function to the other.
// RUN: %dlc-opt %s --pass-pipeline='builtin.module(func.func(dlc-layout),canonicalize)' --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --pass-pipeline='builtin.module(func.func(dlc-layout{filters}),canonicalize)' --split-input-file | FileCheck %s --check-prefix=FILTERS

// One transpose at the input, none between, none for [N,C,1,1].
// CHECK-LABEL: func.func @network
// CHECK: %[[X:.*]] = dlc.transpose %arg0 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x3x8x6xf32>) -> tensor<2x8x6x3xf32>
// CHECK-NOT: dlc.transpose
// CHECK: dlc.conv %[[X]], %arg1 {{.*}}layout = "nhwc"{{.*}} : (tensor<2x8x6x3xf32>, tensor<4x3x3x3xf32>) -> tensor<2x8x6x4xf32>
// CHECK: dlc.batch_norm {{.*}}layout = "nhwc"
// CHECK: dlc.reshape %arg3 : (tensor<4x1x1xf32>) -> tensor<1x1x1x4xf32>
// CHECK: dlc.mul {{.*}} : (tensor<2x8x6x4xf32>, tensor<1x1x1x4xf32>) -> tensor<2x8x6x4xf32>
// CHECK: dlc.max_pool {{.*}}layout = "nhwc"{{.*}} : (tensor<2x8x6x4xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xi8>)
// CHECK: dlc.reduce_mean {{.*}} {axes = array<i64: 1, 2>, keepdims} : (tensor<2x4x3x4xf32>) -> tensor<2x1x1x4xf32>
// CHECK: dlc.reshape {{.*}} : (tensor<2x1x1x4xf32>) -> tensor<2x4xf32>
func.func @network(%x: tensor<2x3x8x6xf32>, %w: tensor<4x3x3x3xf32>, %p: tensor<4xf32>, %s: tensor<4x1x1xf32>) -> tensor<2x4xf32> {
  %c = dlc.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x3x8x6xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x6xf32>
  %n:5 = dlc.batch_norm %c, %p, %p, %p, %p {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<2x4x8x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %m = dlc.mul %n#0, %s : (tensor<2x4x8x6xf32>, tensor<4x1x1xf32>) -> tensor<2x4x8x6xf32>
  %y, %i = dlc.max_pool %m {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x4x8x6xf32>) -> (tensor<2x4x4x3xf32>, tensor<2x4x4x3xi8>)
  %r = dlc.reduce_mean %y {axes = array<i64: 2, 3>, keepdims} : (tensor<2x4x4x3xf32>) -> tensor<2x4x1x1xf32>
  %f = dlc.reshape %r : (tensor<2x4x1x1xf32>) -> tensor<2x4xf32>
  return %f : tensor<2x4xf32>
}

// -----

// The gradient's way back: a broadcast is moved with its user, weights are not.
// CHECK-LABEL: func.func @backward
// CHECK: %[[B:.*]] = dlc.broadcast {{.*}} : (tensor<2x1x1x4xf32>) -> tensor<2x8x6x4xf32>
// CHECK: %[[D:.*]] = dlc.mul %[[B]], {{.*}} : (tensor<2x8x6x4xf32>, tensor<2x8x6x4xf32>) -> tensor<2x8x6x4xf32>
// CHECK: dlc.conv_backward_filter {{.*}}, %[[D]] {{.*}}layout = "nhwc"{{.*}} -> tensor<4x3x3x3xf32>
func.func @backward(%x: tensor<2x3x8x6xf32>, %dy: tensor<2x4x1x1xf32>, %mask: tensor<2x4x8x6xf32>) -> tensor<4x3x3x3xf32> {
  %b = dlc.broadcast %dy : (tensor<2x4x1x1xf32>) -> tensor<2x4x8x6xf32>
  %d = dlc.mul %b, %mask : (tensor<2x4x8x6xf32>, tensor<2x4x8x6xf32>) -> tensor<2x4x8x6xf32>
  %w = dlc.conv_backward_filter %x, %d {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x3x8x6xf32>, tensor<2x4x8x6xf32>) -> tensor<4x3x3x3xf32>
  return %w : tensor<4x3x3x3xf32>
}

// -----

// The sum of what a convolution reads, such as the gradient of its bias.
// CHECK-LABEL: func.func @bias_gradient
// CHECK: %[[Y:.*]] = dlc.transpose %arg1 {perm = array<i64: 0, 2, 3, 1>}
// CHECK: dlc.conv_backward_filter {{.*}}, %[[Y]]
// CHECK: dlc.reduce_sum %[[Y]] {axes = array<i64: 0, 1, 2>} : (tensor<2x8x6x4xf32>) -> tensor<4xf32>
func.func @bias_gradient(%x: tensor<2x3x8x6xf32>, %dy: tensor<2x4x8x6xf32>) -> (tensor<4x3x3x3xf32>, tensor<4xf32>) {
  %w = dlc.conv_backward_filter %x, %dy {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x3x8x6xf32>, tensor<2x4x8x6xf32>) -> tensor<4x3x3x3xf32>
  %b = dlc.reduce_sum %dy {axes = array<i64: 0, 2, 3>} : (tensor<2x4x8x6xf32>) -> tensor<4xf32>
  return %w, %b : tensor<4x3x3x3xf32>, tensor<4xf32>
}

// -----

// Movement by dimension, and a flatten that needs the old order.
// CHECK-LABEL: func.func @movement
// CHECK: dlc.pad {{.*}} {high = array<i64: 0, 1, 2, 0>, interior = array<i64: 0, 0, 0, 0>, low = array<i64: 0, 3, 0, 0>
// CHECK: dlc.slice {{.*}} {sizes = array<i64: 2, 5, 4, 3>, starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, 2, 1, 1>}
// CHECK: dlc.concat {{.*}} {axis = 3 : i64}
// CHECK: %[[T:.*]] = dlc.transpose {{.*}} {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x5x4x6xf32>) -> tensor<2x6x5x4xf32>
// CHECK: dlc.reshape %[[T]] : (tensor<2x6x5x4xf32>) -> tensor<2x120xf32>
func.func @movement(%x: tensor<2x3x8x6xf32>) -> tensor<2x120xf32> {
  %a = dlc.avg_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x8x6xf32>) -> tensor<2x3x8x6xf32>
  %p = dlc.pad %a {low = array<i64: 0, 0, 3, 0>, high = array<i64: 0, 0, 1, 2>, interior = array<i64: 0, 0, 0, 0>, value = 0.0 : f64} : (tensor<2x3x8x6xf32>) -> tensor<2x3x12x8xf32>
  %s = dlc.slice %p {starts = array<i64: 0, 0, 1, 0>, sizes = array<i64: 2, 3, 5, 4>, steps = array<i64: 1, 1, 2, 1>} : (tensor<2x3x12x8xf32>) -> tensor<2x3x5x4xf32>
  %c = dlc.concat %s, %s {axis = 1 : i64} : (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>) -> tensor<2x6x5x4xf32>
  %f = dlc.reshape %c : (tensor<2x6x5x4xf32>) -> tensor<2x120xf32>
  return %f : tensor<2x120xf32>
}

// -----

// What touches no image op stays, whatever its rank.
// CHECK-LABEL: func.func @attention
// CHECK-NOT: dlc.transpose
// CHECK: dlc.mul {{.*}} : (tensor<2x4x8x6xf32>, tensor<2x4x8x6xf32>)
// CHECK-NEXT: dlc.reduce_sum {{.*}} {axes = array<i64: 3>}
func.func @attention(%x: tensor<2x4x8x6xf32>) -> tensor<2x4x8xf32> {
  %m = dlc.mul %x, %x : (tensor<2x4x8x6xf32>, tensor<2x4x8x6xf32>) -> tensor<2x4x8x6xf32>
  %r = dlc.reduce_sum %m {axes = array<i64: 3>} : (tensor<2x4x8x6xf32>) -> tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// -----

// A sum that keeps channels and rows reads the old order.
// CHECK-LABEL: func.func @rows
// CHECK: dlc.transpose {{.*}} {perm = array<i64: 0, 3, 1, 2>}
// CHECK: dlc.reduce_sum {{.*}} {axes = array<i64: 0, 3>} : (tensor<2x3x8x6xf32>) -> tensor<3x8xf32>
func.func @rows(%x: tensor<2x3x8x6xf32>) -> tensor<3x8xf32> {
  %a = dlc.avg_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x8x6xf32>) -> tensor<2x3x8x6xf32>
  %r = dlc.reduce_sum %a {axes = array<i64: 0, 3>} : (tensor<2x3x8x6xf32>) -> tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}

// -----

// The index along the channels is found where they come last.
// CHECK-LABEL: func.func @classes
// CHECK: dlc.argmax {{.*}} {axes = array<i64: 3>} : (tensor<2x8x6x3xf32>) -> tensor<2x8x6xi64>
func.func @classes(%x: tensor<2x3x8x6xf32>) -> tensor<2x8x6xi64> {
  %a = dlc.avg_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x8x6xf32>) -> tensor<2x3x8x6xf32>
  %r = dlc.argmax %a {axes = array<i64: 1>} : (tensor<2x3x8x6xf32>) -> tensor<2x8x6xi64>
  return %r : tensor<2x8x6xi64>
}

// -----

// Volumes; what broadcasts over their channels follows.
// CHECK-LABEL: func.func @volume
// CHECK: %[[X:.*]] = dlc.transpose %arg0 {perm = array<i64: 0, 2, 3, 4, 1>} : (tensor<2x3x4x8x6xf32>) -> tensor<2x4x8x6x3xf32>
// CHECK-NOT: dlc.transpose
// CHECK: dlc.conv %[[X]], %arg1 {{.*}}layout = "nhwc"{{.*}} : (tensor<2x4x8x6x3xf32>, tensor<4x3x3x3x3xf32>) -> tensor<2x4x8x6x4xf32>
// CHECK: dlc.batch_norm {{.*}}layout = "nhwc"
// CHECK: dlc.reshape %arg3 : (tensor<4x1x1x1xf32>) -> tensor<1x1x1x1x4xf32>
// CHECK: dlc.mul {{.*}} : (tensor<2x4x8x6x4xf32>, tensor<1x1x1x1x4xf32>) -> tensor<2x4x8x6x4xf32>
// CHECK: dlc.slice {{.*}} {sizes = array<i64: 2, 4, 4, 6, 4>, starts = array<i64: 0, 0, 1, 0, 0>
// CHECK: dlc.max_pool {{.*}}layout = "nhwc"{{.*}} : (tensor<2x4x4x6x4xf32>) -> (tensor<2x2x2x3x4xf32>, tensor<2x2x2x3x4xi8>)
// CHECK: dlc.reduce_mean {{.*}} {axes = array<i64: 1, 2, 3>} : (tensor<2x2x2x3x4xf32>) -> tensor<2x4xf32>
func.func @volume(%x: tensor<2x3x4x8x6xf32>, %w: tensor<4x3x3x3x3xf32>, %p: tensor<4xf32>, %s: tensor<4x1x1x1xf32>) -> tensor<2x4xf32> {
  %c = dlc.conv %x, %w {strides = array<i64: 1, 1, 1>, pads = array<i64: 1, 1, 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1>} : (tensor<2x3x4x8x6xf32>, tensor<4x3x3x3x3xf32>) -> tensor<2x4x4x8x6xf32>
  %n:5 = dlc.batch_norm %c, %p, %p, %p, %p {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<2x4x4x8x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x4x8x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %m = dlc.mul %n#0, %s : (tensor<2x4x4x8x6xf32>, tensor<4x1x1x1xf32>) -> tensor<2x4x4x8x6xf32>
  %e = dlc.slice %m {starts = array<i64: 0, 0, 0, 1, 0>, sizes = array<i64: 2, 4, 4, 4, 6>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<2x4x4x8x6xf32>) -> tensor<2x4x4x4x6xf32>
  %y, %i = dlc.max_pool %e {kernel = array<i64: 2, 2, 2>, strides = array<i64: 2, 2, 2>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>} : (tensor<2x4x4x4x6xf32>) -> (tensor<2x4x2x2x3xf32>, tensor<2x4x2x2x3xi8>)
  %r = dlc.reduce_mean %y {axes = array<i64: 2, 3, 4>} : (tensor<2x4x2x2x3xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// -----

// Signals; the transpose behind them, to rows of channels, is gone.
// CHECK-LABEL: func.func @signal
// CHECK: dlc.transpose %arg0 {perm = array<i64: 0, 2, 1>} : (tensor<2x3x8xf32>) -> tensor<2x8x3xf32>
// CHECK: %[[Y:.*]] = dlc.conv {{.*}}layout = "nhwc"{{.*}} : (tensor<2x8x3xf32>, tensor<4x3x3xf32>) -> tensor<2x8x4xf32>
// CHECK: %[[T:.*]] = dlc.tanh %[[Y]] : (tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
// CHECK-NEXT: return %[[T]]
func.func @signal(%x: tensor<2x3x8xf32>, %w: tensor<4x3x3xf32>) -> tensor<2x8x4xf32> {
  %c = dlc.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x8xf32>
  %t = dlc.tanh %c : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %r = dlc.transpose %t {perm = array<i64: 0, 2, 1>} : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
  return %r : tensor<2x8x4xf32>
}

// -----

// An image that is broadcast to more dimensions is another's channel: it stays.
// CHECK-LABEL: func.func @more_dimensions
// CHECK: dlc.avg_pool {{.*}}layout = "nhwc"
// CHECK: %[[T:.*]] = dlc.transpose {{.*}} {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x8x6x3xf32>) -> tensor<2x3x8x6xf32>
// CHECK: dlc.mul %[[T]], %arg1 : (tensor<2x3x8x6xf32>, tensor<5x1x1x1x1xf32>) -> tensor<5x2x3x8x6xf32>
func.func @more_dimensions(%x: tensor<2x3x8x6xf32>, %s: tensor<5x1x1x1x1xf32>) -> tensor<5x2x3x8x6xf32> {
  %a = dlc.avg_pool %x {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x8x6xf32>) -> tensor<2x3x8x6xf32>
  %m = dlc.mul %a, %s : (tensor<2x3x8x6xf32>, tensor<5x1x1x1x1xf32>) -> tensor<5x2x3x8x6xf32>
  return %m : tensor<5x2x3x8x6xf32>
}

// -----

// Filters, if asked for: one transpose for both convolutions that read them, one behind the gradient, which what updates
// the filters does not follow; none for 1x1. Without, as they are.
// CHECK-LABEL: func.func @filters
// CHECK-NOT: filters_last
// FILTERS-LABEL: func.func @filters
// FILTERS-DAG: %[[W:.*]] = dlc.transpose %arg1 {perm = array<i64: 0, 2, 3, 1>} : (tensor<4x3x3x2xf32>) -> tensor<4x3x2x3xf32>
// FILTERS-DAG: %[[V:.*]] = dlc.reshape %arg2 : (tensor<5x4x1x1xf32>) -> tensor<5x1x1x4xf32>
// FILTERS: dlc.conv {{.*}}, %[[W]] {{.*}}filters_last
// FILTERS: dlc.conv {{.*}}, %[[V]] {{.*}}filters_last
// FILTERS: %[[DW:.*]] = dlc.conv_backward_filter {{.*}}filters_last{{.*}} -> tensor<4x3x2x3xf32>
// FILTERS: %[[FIRST:.*]] = dlc.transpose %[[DW]] {perm = array<i64: 0, 3, 1, 2>} : (tensor<4x3x2x3xf32>) -> tensor<4x3x3x2xf32>
// FILTERS: dlc.conv_backward_data {{.*}}, %[[W]] {{.*}}filters_last
// FILTERS: dlc.sub %arg1, %[[FIRST]]
func.func @filters(%x: tensor<2x3x8x6xf32>, %w: tensor<4x3x3x2xf32>, %v: tensor<5x4x1x1xf32>, %dy: tensor<2x4x6x5xf32>) -> (tensor<4x3x3x2xf32>, tensor<2x5x6x5xf32>, tensor<2x3x8x6xf32>) {
  %c = dlc.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x8x6xf32>, tensor<4x3x3x2xf32>) -> tensor<2x4x6x5xf32>
  %d = dlc.conv %c, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x4x6x5xf32>, tensor<5x4x1x1xf32>) -> tensor<2x5x6x5xf32>
  %dw = dlc.conv_backward_filter %x, %dy {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x8x6xf32>, tensor<2x4x6x5xf32>) -> tensor<4x3x3x2xf32>
  %dx = dlc.conv_backward_data %dy, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x4x6x5xf32>, tensor<4x3x3x2xf32>) -> tensor<2x3x8x6xf32>
  %u = dlc.sub %w, %dw : (tensor<4x3x3x2xf32>, tensor<4x3x3x2xf32>) -> tensor<4x3x3x2xf32>
  return %u, %d, %dx : tensor<4x3x3x2xf32>, tensor<2x5x6x5xf32>, tensor<2x3x8x6xf32>
}
