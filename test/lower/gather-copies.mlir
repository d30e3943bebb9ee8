// RUN: %dlc-opt %s --dlc-fuse --dlc-join-casts --dlc-gather-copies | FileCheck %s

// Filters in the convolutions' layout come first of all, as their casts do; their gradients in the parameters' layout
// stand before the first op that reads one.
// CHECK-LABEL: func @train_step
// CHECK: dlc.fused({{.*}}) {dlc.joined}
// CHECK: dlc.transpose {{.*}} {perm = array<i64: 0, 2, 3, 1>} : (tensor<8x4x3x3xbf16>)
// CHECK: dlc.fused({{.*}}) {dlc.joined}
// CHECK: dlc.transpose {{.*}} {perm = array<i64: 0, 2, 3, 1>} : (tensor<4x8x3x3xbf16>)
// CHECK: dlc.conv %arg0
// CHECK: dlc.conv
// CHECK: dlc.conv_backward_filter
// CHECK: dlc.conv_backward_filter
// CHECK: dlc.transpose {{.*}} {perm = array<i64: 0, 3, 1, 2>} : (tensor<4x3x3x8xbf16>)
// CHECK: dlc.all_reduce {{.*}} {of = @b}
// CHECK: dlc.transpose {{.*}} {perm = array<i64: 0, 3, 1, 2>} : (tensor<8x3x3x4xbf16>)
// CHECK: dlc.all_reduce {{.*}} {of = @a}
// CHECK: dlc.sub
// CHECK: dlc.sub

// Several ranks send a gradient as soon as it is there, and who only predicts needs no more memory.
// CHECK-LABEL: func @sends
// CHECK: dlc.transpose
// CHECK: dlc.all_reduce {{.*}} {bucket = 0
// CHECK: dlc.conv
// CHECK-LABEL: func @predict
// CHECK: dlc.conv
// CHECK: dlc.transpose
// CHECK: dlc.conv
dlc.state @a : tensor<8x4x3x3xf32> param init = "a" trainable
dlc.state @b : tensor<4x8x3x3xf32> param init = "b" trainable
func.func @train_step(%x: tensor<2x5x5x4xbf16>, %dy: tensor<2x5x5x4xbf16>) -> tensor<2x5x5x4xbf16> {
  %a = dlc.read @a : tensor<8x4x3x3xf32>
  %ha = dlc.cast %a : (tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xbf16>
  %ta = dlc.transpose %ha {perm = array<i64: 0, 2, 3, 1>} : (tensor<8x4x3x3xbf16>) -> tensor<8x3x3x4xbf16>
  %y = dlc.conv %x, %ta by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x5x4xbf16>, tensor<8x3x3x4xbf16>) -> tensor<2x5x5x8xbf16>
  %b = dlc.read @b : tensor<4x8x3x3xf32>
  %hb = dlc.cast %b : (tensor<4x8x3x3xf32>) -> tensor<4x8x3x3xbf16>
  %tb = dlc.transpose %hb {perm = array<i64: 0, 2, 3, 1>} : (tensor<4x8x3x3xbf16>) -> tensor<4x3x3x8xbf16>
  %z = dlc.conv %y, %tb by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x5x8xbf16>, tensor<4x3x3x8xbf16>) -> tensor<2x5x5x4xbf16>
  %db = dlc.conv_backward_filter %y, %dy by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x5x8xbf16>, tensor<2x5x5x4xbf16>) -> tensor<4x3x3x8xbf16>
  %gb = dlc.transpose %db {perm = array<i64: 0, 3, 1, 2>} : (tensor<4x3x3x8xbf16>) -> tensor<4x8x3x3xbf16>
  %fb = dlc.cast %gb : (tensor<4x8x3x3xbf16>) -> tensor<4x8x3x3xf32>
  %rb = dlc.all_reduce %fb {of = @b} : (tensor<4x8x3x3xf32>) -> tensor<4x8x3x3xf32>
  %da = dlc.conv_backward_filter %x, %y by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x5x4xbf16>, tensor<2x5x5x8xbf16>) -> tensor<8x3x3x4xbf16>
  %ga = dlc.transpose %da {perm = array<i64: 0, 3, 1, 2>} : (tensor<8x3x3x4xbf16>) -> tensor<8x4x3x3xbf16>
  %fa = dlc.cast %ga : (tensor<8x4x3x3xbf16>) -> tensor<8x4x3x3xf32>
  %ra = dlc.all_reduce %fa {of = @a} : (tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xf32>
  %na = dlc.sub %a, %ra : (tensor<8x4x3x3xf32>, tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xf32>
  %nb = dlc.sub %b, %rb : (tensor<4x8x3x3xf32>, tensor<4x8x3x3xf32>) -> tensor<4x8x3x3xf32>
  dlc.write @a, %na : tensor<8x4x3x3xf32>
  dlc.write @b, %nb : tensor<4x8x3x3xf32>
  return %z : tensor<2x5x5x4xbf16>
}
func.func @sends(%x: tensor<2x5x5x4xbf16>, %dy: tensor<2x5x5x8xbf16>) -> tensor<2x5x5x8xbf16> {
  %d = dlc.conv_backward_filter %x, %dy by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x5x4xbf16>, tensor<2x5x5x8xbf16>) -> tensor<8x3x3x4xbf16>
  %g = dlc.transpose %d {perm = array<i64: 0, 3, 1, 2>} : (tensor<8x3x3x4xbf16>) -> tensor<8x4x3x3xbf16>
  %f = dlc.cast %g : (tensor<8x4x3x3xbf16>) -> tensor<8x4x3x3xf32>
  %r = dlc.all_reduce %f {bucket = 0 : i64, of = @a} : (tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xf32>
  %y = dlc.conv %x, %d by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x5x4xbf16>, tensor<8x3x3x4xbf16>) -> tensor<2x5x5x8xbf16>
  %a = dlc.read @a : tensor<8x4x3x3xf32>
  %n = dlc.sub %a, %r : (tensor<8x4x3x3xf32>, tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xf32>
  dlc.write @a, %n : tensor<8x4x3x3xf32>
  return %y : tensor<2x5x5x8xbf16>
}
func.func @predict(%x: tensor<2x5x5x4xbf16>, %w: tensor<4x3x3x4xbf16>) -> tensor<2x5x5x8xbf16> {
  %y = dlc.conv %x, %w by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x5x4xbf16>, tensor<4x3x3x4xbf16>) -> tensor<2x5x5x4xbf16>
  %a = dlc.read @a : tensor<8x4x3x3xf32>
  %h = dlc.cast %a : (tensor<8x4x3x3xf32>) -> tensor<8x4x3x3xbf16>
  %t = dlc.transpose %h {perm = array<i64: 0, 2, 3, 1>} : (tensor<8x4x3x3xbf16>) -> tensor<8x3x3x4xbf16>
  %z = dlc.conv %y, %t by = library {dilations = array<i64: 1, 1>, filters_last, layout = "nhwc", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x5x5x4xbf16>, tensor<8x3x3x4xbf16>) -> tensor<2x5x5x8xbf16>
  return %z : tensor<2x5x5x8xbf16>
}
