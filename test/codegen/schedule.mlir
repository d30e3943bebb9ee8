// RUN: dlc-codegen %s --emit=schedule | FileCheck %s

// Adjacent loops that all accesses see as contiguous run as one, in blocks that
// divide it.
// CHECK: flat: elementwise extent=20 grain=10 elements=64000 flops=64000 bytes=512000 outer=[] inner=[64000] block=3200
exec.kernel @flat {
^bb0(%x: tensor<64x1000xf32>):
  %y = dlc.neg %x : (tensor<64x1000xf32>) -> tensor<64x1000xf32>
  dlc.yield %y : tensor<64x1000xf32>
}

// A bias of the channels keeps the channels apart from the image.
// CHECK: bias: elementwise extent=32 {{.*}} outer=[8] inner=[16, 784] block=4
exec.kernel @bias {
^bb0(%x: tensor<8x16x28x28xf32>, %b: tensor<16x1x1xf32>):
  %y = dlc.add %x, %b : (tensor<8x16x28x28xf32>, tensor<16x1x1xf32>) -> tensor<8x16x28x28xf32>
  dlc.yield %y : tensor<8x16x28x28xf32>
}

// A transpose moves only its two dimensions.
// CHECK: transpose: elementwise extent=32 {{.*}} outer=[8] inner=[28, 28, 16] block=7
exec.kernel @transpose {
^bb0(%x: tensor<8x16x28x28xf32>):
  %y = dlc.transpose %x {perm = array<i64: 0, 2, 3, 1>} : (tensor<8x16x28x28xf32>) -> tensor<8x28x28x16xf32>
  %z = dlc.pad %y {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 0, 0>, interior = array<i64: 0, 0, 0, 0>, value = 0.0 : f64} : (tensor<8x28x28x16xf32>) -> tensor<8x28x28x16xf32>
  %i = dlc.iota {axis = 1} : () -> tensor<8x28x28x16xf32>
  %w = dlc.add %z, %i : (tensor<8x28x28x16xf32>, tensor<8x28x28x16xf32>) -> tensor<8x28x28x16xf32>
  dlc.yield %w : tensor<8x28x28x16xf32>
}

// Rows: the reduced axes are the last; the item is a row.
// CHECK: rows: rows extent=96 {{.*}} outer=[96] inner=[200] block=0
exec.kernel @rows {
^bb0(%x: tensor<8x12x20x10xf32>):
  %m = dlc.reduce_max %x {axes = array<i64: 2, 3>, keepdims} : (tensor<8x12x20x10xf32>) -> tensor<8x12x1x1xf32>
  %y = dlc.sub %x, %m : (tensor<8x12x20x10xf32>, tensor<8x12x1x1xf32>) -> tensor<8x12x20x10xf32>
  dlc.yield %y : tensor<8x12x20x10xf32>
}

// Columns: blocks of the kept elements.
// CHECK: columns: columns extent=4 {{.*}} outer=[1024] inner=[640] block=256
exec.kernel @columns {
^bb0(%x: tensor<640x1024xbf16>):
  %m = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<640x1024xbf16>) -> tensor<1024xbf16>
  dlc.yield %m : tensor<1024xbf16>
}

// Channels of an image batch: reduced along the innermost loop.
// CHECK: channels: rows extent=6 {{.*}} outer=[6] inner=[4, 63] block=0
exec.kernel @channels {
^bb0(%x: tensor<4x6x7x9xf32>):
  %m = dlc.reduce_sum %x {axes = array<i64: 0, 2, 3>} : (tensor<4x6x7x9xf32>) -> tensor<6xf32>
  dlc.yield %m : tensor<6xf32>
}

// CHECK: empty: elementwise extent=0
exec.kernel @empty {
^bb0(%x: tensor<0x3xf32>):
  %y = dlc.neg %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  dlc.yield %y : tensor<0x3xf32>
}
