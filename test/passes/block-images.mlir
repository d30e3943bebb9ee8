// RUN: %dlc-opt %s --dlc-block-images --split-input-file | FileCheck %s

// Pads that are no whole blocks: a zero more before the image, and one before the filter. Of 12 channels 16 are made, and what the
// image needs is one kernel: the cast and the pad are behind the reshape.
// CHECK-LABEL: func @stem
// CHECK-NEXT: %[[R:.*]] = dlc.reshape %arg0 : (tensor<2x3x224x224xf32>) -> tensor<2x3x112x2x112x2xf32>
// CHECK-NEXT: %[[T:.*]] = dlc.transpose %[[R]] {perm = array<i64: 0, 2, 4, 1, 3, 5>}
// CHECK-NEXT: %[[P:.*]] = dlc.pad %[[T]] {high = array<i64: 0, 1, 1, 1, 0, 0>, {{.*}}, low = array<i64: 0, 2, 2, 0, 0, 0>, {{.*}} -> tensor<2x115x115x4x2x2xf32>
// CHECK-NEXT: %[[C:.*]] = dlc.cast %[[P]]
// CHECK-NEXT: %[[B:.*]] = dlc.reshape %[[C]] : (tensor<2x115x115x4x2x2xbf16>) -> tensor<2x115x115x16xbf16>
// CHECK-NEXT: %[[X:.*]] = dlc.transpose %[[B]] {perm = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT: %[[V:.*]] = dlc.pad %arg1 {high = array<i64: 0, 0, 0, 0>, {{.*}}, low = array<i64: 0, 0, 1, 1>, {{.*}} -> tensor<64x3x8x8xbf16>
// CHECK-NEXT: %[[VR:.*]] = dlc.reshape %[[V]] : {{.*}} -> tensor<64x3x4x2x4x2xbf16>
// CHECK-NEXT: %[[VT:.*]] = dlc.transpose %[[VR]] {perm = array<i64: 0, 2, 4, 1, 3, 5>}
// CHECK-NEXT: %[[VP:.*]] = dlc.pad %[[VT]] {{.*}} -> tensor<64x4x4x4x2x2xbf16>
// CHECK-NEXT: %[[VB:.*]] = dlc.reshape %[[VP]] : {{.*}} -> tensor<64x4x4x16xbf16>
// CHECK-NEXT: %[[W:.*]] = dlc.transpose %[[VB]] {perm = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT: %[[Y:.*]] = dlc.conv %[[X]], %[[W]], %arg2 {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x16x115x115xbf16>, tensor<64x16x4x4xbf16>, tensor<64xbf16>) -> tensor<2x64x112x112xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @stem(%x: tensor<2x3x224x224xf32>, %w: tensor<64x3x7x7xbf16>, %b: tensor<64xbf16>) -> tensor<2x64x112x112xbf16> {
  %h = dlc.cast %x : (tensor<2x3x224x224xf32>) -> tensor<2x3x224x224xbf16>
  %y = dlc.conv %h, %w, %b {strides = array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>} : (tensor<2x3x224x224xbf16>, tensor<64x3x7x7xbf16>, tensor<64xbf16>) -> tensor<2x64x112x112xbf16>
  return %y : tensor<2x64x112x112xbf16>
}

// -----

// Patches: nothing is padded, and one block is the whole filter.
// CHECK-LABEL: func @patches
// CHECK-NOT: dlc.pad
// CHECK: dlc.transpose {{.*}} : (tensor<2x3x14x16x14x16xf16>) -> tensor<2x14x14x3x16x16xf16>
// CHECK: dlc.reshape {{.*}} : (tensor<96x1x1x768xf16>) -> tensor<96x768x1x1xf16>
// CHECK: dlc.conv {{.*}} strides = array<i64: 1, 1>} : (tensor<2x768x14x14xf16>, tensor<96x768x1x1xf16>) -> tensor<2x96x14x14xf16>
func.func @patches(%x: tensor<2x3x224x224xf16>, %w: tensor<96x3x16x16xf16>) -> tensor<2x96x14x14xf16> {
  %y = dlc.conv %x, %w {strides = array<i64: 16, 16>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x224x224xf16>, tensor<96x3x16x16xf16>) -> tensor<2x96x14x14xf16>
  return %y : tensor<2x96x14x14xf16>
}

// -----

// Sides that are no multiple of the stride, other pads before than behind.
// CHECK-LABEL: func @uneven
// CHECK-NEXT: dlc.pad %arg0 {high = array<i64: 0, 0, 1, 0>, {{.*}} -> tensor<2x3x10x8xbf16>
// CHECK-NEXT: dlc.reshape {{.*}} -> tensor<2x3x5x2x4x2xbf16>
// CHECK-NEXT: dlc.transpose
// CHECK-NEXT: dlc.pad {{.*}} {high = array<i64: 0, 0, 1, 1, 0, 0>, {{.*}}, low = array<i64: 0, 1, 0, 0, 0, 0>, {{.*}} -> tensor<2x6x5x4x2x2xbf16>
// CHECK: dlc.conv {{.*}} : (tensor<2x16x6x5xbf16>, tensor<8x16x2x2xbf16>) -> tensor<2x8x5x4xbf16>
func.func @uneven(%x: tensor<2x3x9x8xbf16>, %w: tensor<8x3x3x3xbf16>) -> tensor<2x8x5x4xbf16> {
  %y = dlc.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x3x9x8xbf16>, tensor<8x3x3x3xbf16>) -> tensor<2x8x5x4xbf16>
  return %y : tensor<2x8x5x4xbf16>
}

// -----

// A state that does not train is no reason to leave it.
// CHECK-LABEL: func @frozen
// CHECK: dlc.conv {{.*}} : (tensor<2x8x4xbf16>, tensor<8x8x2xbf16>)
dlc.state @mean : tensor<1xbf16> buffer init = "mean"
func.func @frozen(%x: tensor<2x3x8xbf16>, %w: tensor<8x3x4xbf16>) -> tensor<2x8x3xbf16> {
  %m = dlc.read @mean : tensor<1xbf16>
  %c = dlc.sub %x, %m : (tensor<2x3x8xbf16>, tensor<1xbf16>) -> tensor<2x3x8xbf16>
  %y = dlc.conv %c, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<2x3x8xbf16>, tensor<8x3x4xbf16>) -> tensor<2x8x3xbf16>
  return %y : tensor<2x8x3xbf16>
}

// -----

// What is left as it is: strides of 1, other strides than each other's, dilations, enough channels, groups, f32, holes between windows,
// and images that have a gradient.
// CHECK-LABEL: func @others
// CHECK-NOT: {{dlc.reshape|dlc.pad}}
// CHECK: return
dlc.state @p : tensor<1xbf16> param init = "p" trainable
func.func @others(%x: tensor<2x4x9x9xbf16>, %x8: tensor<2x8x9x9xbf16>, %xf: tensor<2x4x9x9xf32>, %w: tensor<8x4x3x3xbf16>, %w8: tensor<8x8x3x3xbf16>, %wf: tensor<8x4x3x3xf32>, %w2: tensor<8x2x3x3xbf16>, %w1: tensor<8x4x1x1xbf16>)
    -> (tensor<2x8x7x7xbf16>, tensor<2x8x4x7xbf16>, tensor<2x8x3x3xbf16>, tensor<2x8x4x4xbf16>, tensor<2x8x4x4xbf16>, tensor<2x8x4x4xf32>, tensor<2x8x5x5xbf16>, tensor<2x8x4x4xbf16>) {
  %a = dlc.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x4x9x9xbf16>, tensor<8x4x3x3xbf16>) -> tensor<2x8x7x7xbf16>
  %b = dlc.conv %x, %w {strides = array<i64: 2, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x4x9x9xbf16>, tensor<8x4x3x3xbf16>) -> tensor<2x8x4x7xbf16>
  %c = dlc.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 2, 2>} : (tensor<2x4x9x9xbf16>, tensor<8x4x3x3xbf16>) -> tensor<2x8x3x3xbf16>
  %d = dlc.conv %x8, %w8 {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x8x9x9xbf16>, tensor<8x8x3x3xbf16>) -> tensor<2x8x4x4xbf16>
  %e = dlc.conv %x, %w2 {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 2 : i64} : (tensor<2x4x9x9xbf16>, tensor<8x2x3x3xbf16>) -> tensor<2x8x4x4xbf16>
  %f = dlc.conv %xf, %wf {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x4x9x9xf32>, tensor<8x4x3x3xf32>) -> tensor<2x8x4x4xf32>
  %g = dlc.conv %x, %w1 {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x4x9x9xbf16>, tensor<8x4x1x1xbf16>) -> tensor<2x8x5x5xbf16>
  %p = dlc.read @p : tensor<1xbf16>
  %xp = dlc.mul %x, %p : (tensor<2x4x9x9xbf16>, tensor<1xbf16>) -> tensor<2x4x9x9xbf16>
  %h = dlc.conv %xp, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x4x9x9xbf16>, tensor<8x4x3x3xbf16>) -> tensor<2x8x4x4xbf16>
  return %a, %b, %c, %d, %e, %f, %g, %h : tensor<2x8x7x7xbf16>, tensor<2x8x4x7xbf16>, tensor<2x8x3x3xbf16>, tensor<2x8x4x4xbf16>, tensor<2x8x4x4xbf16>, tensor<2x8x4x4xf32>, tensor<2x8x5x5xbf16>, tensor<2x8x4x4xbf16>
}
