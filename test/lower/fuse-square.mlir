// RUN: %dlc-opt %s --dlc-fuse --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse=repeat --split-input-file | FileCheck %s

// Row sums of a square tensor that are used along its columns are of another kernel than what uses them; shapes do not tell.
// CHECK-LABEL: func @columns
// CHECK: %[[S:.*]] = dlc.fused(%arg0)
// CHECK: dlc.reduce_sum
// CHECK: dlc.fused(%arg0, %[[S]])
// CHECK: dlc.mul
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @columns(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %s = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %y = dlc.mul %x, %s : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----
// At their own rows they join it.
// CHECK-LABEL: func @rows
// CHECK: dlc.fused(%arg0)
// CHECK: dlc.reduce_sum
// CHECK: dlc.mul
// CHECK-NOT: dlc.fused
// CHECK: return
func.func @rows(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %s = dlc.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<64x64xf32>) -> tensor<64x1xf32>
  %y = dlc.mul %x, %s : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----
// Both uses at once, as a graph's normalisation has them, with the roots that are cheap enough to be repeated.
// CHECK-LABEL: func @both
// CHECK: dlc.fused(%arg0)
// CHECK: dlc.reduce_sum
// CHECK: dlc.fused
// CHECK-NOT: dlc.reduce_sum
// CHECK: return
func.func @both(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %s = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %r = dlc.rsqrt %s : (tensor<64xf32>) -> tensor<64xf32>
  %c = dlc.reshape %r : (tensor<64xf32>) -> tensor<64x1xf32>
  %0 = dlc.mul %x, %c : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %y = dlc.mul %0, %r : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----
// What is reduced over other axes of equal sizes.
// CHECK-LABEL: func @planes
// CHECK-COUNT-2: dlc.fused
// CHECK: return
func.func @planes(%x: tensor<8x8x8xf32>) -> tensor<8x8x8xf32> {
  %s = dlc.reduce_max %x {axes = array<i64: 2>} : (tensor<8x8x8xf32>) -> tensor<8x8xf32>
  %t = dlc.reshape %s : (tensor<8x8xf32>) -> tensor<8x1x8xf32>
  %y = dlc.sub %x, %t : (tensor<8x8x8xf32>, tensor<8x1x8xf32>) -> tensor<8x8x8xf32>
  return %y : tensor<8x8x8xf32>
}
