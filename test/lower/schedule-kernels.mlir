// RUN: %dlc-opt %s --dlc-schedule-kernels | FileCheck %s

// Adjacent loops that all accesses see as contiguous run as one, in blocks that
// divide it.
// CHECK: exec.kernel @flat schedule = #exec.schedule<elementwise, inner = {{\[\[}}0, 1]: 64000], block = 3200, grain = 10, flops = 64000, bytes = 512000> {
exec.kernel @flat {
^bb0(%x: tensor<64x1000xf32>):
  %y = dlc.neg %x : (tensor<64x1000xf32>) -> tensor<64x1000xf32>
  dlc.yield %y : tensor<64x1000xf32>
}

// A bias of the channels keeps the channels apart from the image.
// CHECK: exec.kernel @bias schedule = #exec.schedule<elementwise, outer = {{\[\[}}0]: 8], inner = {{\[\[}}1]: 16, [2, 3]: 784], block = 4,
exec.kernel @bias {
^bb0(%x: tensor<8x16x28x28xf32>, %b: tensor<16x1x1xf32>):
  %y = dlc.add %x, %b : (tensor<8x16x28x28xf32>, tensor<16x1x1xf32>) -> tensor<8x16x28x28xf32>
  dlc.yield %y : tensor<8x16x28x28xf32>
}

// A transpose moves only its two dimensions.
// CHECK: exec.kernel @transpose schedule = #exec.schedule<elementwise, outer = {{\[\[}}0]: 8], inner = {{\[\[}}1]: 28, [2]: 28, [3]: 16], block = 7,
exec.kernel @transpose {
^bb0(%x: tensor<8x16x28x28xf32>):
  %y = dlc.transpose %x {perm = array<i64: 0, 2, 3, 1>} : (tensor<8x16x28x28xf32>) -> tensor<8x28x28x16xf32>
  %z = dlc.pad %y {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 0, 0>, interior = array<i64: 0, 0, 0, 0>, value = 0.0 : f64} : (tensor<8x28x28x16xf32>) -> tensor<8x28x28x16xf32>
  %i = dlc.iota {axis = 1} : () -> tensor<8x28x28x16xf32>
  %w = dlc.add %z, %i : (tensor<8x28x28x16xf32>, tensor<8x28x28x16xf32>) -> tensor<8x28x28x16xf32>
  dlc.yield %w : tensor<8x28x28x16xf32>
}

// Rows: the reduced axes are the last; the item is a row.
// CHECK: exec.kernel @rows schedule = #exec.schedule<rows, outer = {{\[\[}}0, 1]: 96], inner = {{\[\[}}2, 3]: 200], grain =
exec.kernel @rows {
^bb0(%x: tensor<8x12x20x10xf32>):
  %m = dlc.reduce_max %x {axes = array<i64: 2, 3>, keepdims} : (tensor<8x12x20x10xf32>) -> tensor<8x12x1x1xf32>
  %y = dlc.sub %x, %m : (tensor<8x12x20x10xf32>, tensor<8x12x1x1xf32>) -> tensor<8x12x20x10xf32>
  dlc.yield %y : tensor<8x12x20x10xf32>
}

// Columns: blocks of the kept elements.
// CHECK: exec.kernel @columns schedule = #exec.schedule<columns, outer = {{\[\[}}1]: 1024], inner = {{\[\[}}0]: 640], block = 256,
exec.kernel @columns {
^bb0(%x: tensor<640x1024xbf16>):
  %m = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<640x1024xbf16>) -> tensor<1024xbf16>
  dlc.yield %m : tensor<1024xbf16>
}

// Channels of an image batch: reduced along the innermost loop.
// CHECK: exec.kernel @channels schedule = #exec.schedule<rows, outer = {{\[\[}}1]: 6], inner = {{\[\[}}0]: 4, [2, 3]: 63], grain =
exec.kernel @channels {
^bb0(%x: tensor<4x6x7x9xf32>):
  %m = dlc.reduce_sum %x {axes = array<i64: 0, 2, 3>} : (tensor<4x6x7x9xf32>) -> tensor<6xf32>
  dlc.yield %m : tensor<6xf32>
}

// CHECK: exec.kernel @empty schedule = #exec.schedule<elementwise, inner = {{\[\[}}0, 1]: 0], grain =
exec.kernel @empty {
^bb0(%x: tensor<0x3xf32>):
  %y = dlc.neg %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  dlc.yield %y : tensor<0x3xf32>
}

// A schedule that is there stays.
// CHECK: exec.kernel @given schedule = #exec.schedule<elementwise, outer = {{\[\[}}0]: 4], inner = {{\[\[}}1]: 8], grain = 3, flops = 0, bytes = 0> {
exec.kernel @given schedule = #exec.schedule<elementwise, outer = [[0]: 4], inner = [[1]: 8], grain = 3> {
^bb0(%x: tensor<4x8xf32>):
  %y = dlc.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  dlc.yield %y : tensor<4x8xf32>
}

// A convolution of few channels a group: items of a block of channels, a tile and some images, which have no loops of a graph.
// CHECK: exec.kernel @conv schedule = #exec.schedule<whole, outer = {{\[\[}}]: 40], grain =
exec.kernel @conv {
^bb0(%x: tensor<8x14x14x240xf32>, %w: tensor<240x1x3x3xf32>):
  %y = dlc.conv %x, %w by = generated {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 240 : i64, layout = "nhwc"} : (tensor<8x14x14x240xf32>, tensor<240x1x3x3xf32>) -> tensor<8x14x14x240xf32>
  dlc.yield %y : tensor<8x14x14x240xf32>
}
