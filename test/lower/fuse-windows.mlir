// RUN: %dlc-opt %s '--dlc-fuse=repeat windows' --split-input-file | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse=repeat --split-input-file | FileCheck %s --check-prefix=KEEP

// What a norm leaves of images is not stored for the pool that alone reads it: each window computes what it sees.
// CHECK-LABEL: func @pool
// CHECK: dlc.fused(%arg0, %arg1) : (tensor<8x6x6x16xbf16>, tensor<1x1x1x16xf32>) -> tensor<8x3x3x16xbf16>
// CHECK: dlc.relu
// CHECK: dlc.pad
// CHECK-NOT: dlc.fused
// CHECK: return
// KEEP-LABEL: func @pool
// KEEP: dlc.fused{{.*}} -> tensor<8x6x6x16xbf16>
// KEEP: dlc.fused{{.*}} -> tensor<8x3x3x16xbf16>
func.func @pool(%x: tensor<8x6x6x16xbf16>, %scale: tensor<1x1x1x16xf32>) -> tensor<8x3x3x16xbf16> {
  %0 = dlc.cast %x : (tensor<8x6x6x16xbf16>) -> tensor<8x6x6x16xf32>
  %1 = dlc.mul %0, %scale : (tensor<8x6x6x16xf32>, tensor<1x1x1x16xf32>) -> tensor<8x6x6x16xf32>
  %2 = dlc.cast %1 : (tensor<8x6x6x16xf32>) -> tensor<8x6x6x16xbf16>
  %3 = dlc.relu %2 : (tensor<8x6x6x16xbf16>) -> tensor<8x6x6x16xbf16>
  %4 = dlc.pad %3 {high = array<i64: 0, 1, 1, 0>, interior = array<i64: 0, 0, 0, 0>, low = array<i64: 0, 1, 1, 0>, value = 0xFFF0000000000000 : f64} : (tensor<8x6x6x16xbf16>) -> tensor<8x8x8x16xbf16>
  %5 = dlc.slice %4 {sizes = array<i64: 8, 3, 3, 16>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 2, 2, 1>} : (tensor<8x8x8x16xbf16>) -> tensor<8x3x3x16xbf16>
  %6 = dlc.slice %4 {sizes = array<i64: 8, 3, 3, 16>, starts = array<i64: 0, 1, 1, 0>, steps = array<i64: 1, 2, 2, 1>} : (tensor<8x8x8x16xbf16>) -> tensor<8x3x3x16xbf16>
  %7 = dlc.max %5, %6 : (tensor<8x3x3x16xbf16>, tensor<8x3x3x16xbf16>) -> tensor<8x3x3x16xbf16>
  return %7 : tensor<8x3x3x16xbf16>
}

// -----
// Not where others read it, too.
// CHECK-LABEL: func @stored
// CHECK: dlc.fused(%arg0) : {{.*}} -> tensor<8x6x6x16xf32>
// CHECK: dlc.fused{{.*}} -> tensor<8x3x3x16xf32>
// CHECK: return
func.func @stored(%x: tensor<8x6x6x16xf32>) -> (tensor<8x6x6x16xf32>, tensor<8x3x3x16xf32>) {
  %0 = dlc.relu %x : (tensor<8x6x6x16xf32>) -> tensor<8x6x6x16xf32>
  %1 = dlc.slice %0 {sizes = array<i64: 8, 3, 3, 16>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 2, 2, 1>} : (tensor<8x6x6x16xf32>) -> tensor<8x3x3x16xf32>
  %2 = dlc.slice %0 {sizes = array<i64: 8, 3, 3, 16>, starts = array<i64: 0, 1, 1, 0>, steps = array<i64: 1, 2, 2, 1>} : (tensor<8x6x6x16xf32>) -> tensor<8x3x3x16xf32>
  %3 = dlc.add %1, %2 : (tensor<8x3x3x16xf32>, tensor<8x3x3x16xf32>) -> tensor<8x3x3x16xf32>
  return %0, %3 : tensor<8x6x6x16xf32>, tensor<8x3x3x16xf32>
}

// -----
// Nor what costs more to compute than to read, nor what windows read five times.
// CHECK-LABEL: func @costly
// CHECK-COUNT-2: dlc.fused
// CHECK: return
func.func @costly(%x: tensor<8x6x6x16xf32>) -> tensor<8x3x3x16xf32> {
  %0 = dlc.exp %x : (tensor<8x6x6x16xf32>) -> tensor<8x6x6x16xf32>
  %1 = dlc.slice %0 {sizes = array<i64: 8, 3, 3, 16>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 2, 2, 1>} : (tensor<8x6x6x16xf32>) -> tensor<8x3x3x16xf32>
  %2 = dlc.slice %0 {sizes = array<i64: 8, 3, 3, 16>, starts = array<i64: 0, 1, 1, 0>, steps = array<i64: 1, 2, 2, 1>} : (tensor<8x6x6x16xf32>) -> tensor<8x3x3x16xf32>
  %3 = dlc.add %1, %2 : (tensor<8x3x3x16xf32>, tensor<8x3x3x16xf32>) -> tensor<8x3x3x16xf32>
  return %3 : tensor<8x3x3x16xf32>
}

// -----
// CHECK-LABEL: func @often
// CHECK-COUNT-2: dlc.fused
// CHECK: return
func.func @often(%x: tensor<8x64xf32>) -> tensor<8x63xf32> {
  %0 = dlc.relu %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %p = dlc.pad %0 {high = array<i64: 0, 4>, interior = array<i64: 0, 0>, low = array<i64: 0, 0>, value = 0.0 : f64} : (tensor<8x64xf32>) -> tensor<8x68xf32>
  %1 = dlc.slice %p {sizes = array<i64: 8, 63>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<8x68xf32>) -> tensor<8x63xf32>
  %2 = dlc.slice %p {sizes = array<i64: 8, 63>, starts = array<i64: 0, 1>, steps = array<i64: 1, 1>} : (tensor<8x68xf32>) -> tensor<8x63xf32>
  %3 = dlc.slice %p {sizes = array<i64: 8, 63>, starts = array<i64: 0, 2>, steps = array<i64: 1, 1>} : (tensor<8x68xf32>) -> tensor<8x63xf32>
  %4 = dlc.slice %p {sizes = array<i64: 8, 63>, starts = array<i64: 0, 3>, steps = array<i64: 1, 1>} : (tensor<8x68xf32>) -> tensor<8x63xf32>
  %5 = dlc.slice %p {sizes = array<i64: 8, 63>, starts = array<i64: 0, 4>, steps = array<i64: 1, 1>} : (tensor<8x68xf32>) -> tensor<8x63xf32>
  %6 = dlc.add %1, %2 : (tensor<8x63xf32>, tensor<8x63xf32>) -> tensor<8x63xf32>
  %7 = dlc.add %6, %3 : (tensor<8x63xf32>, tensor<8x63xf32>) -> tensor<8x63xf32>
  %8 = dlc.add %7, %4 : (tensor<8x63xf32>, tensor<8x63xf32>) -> tensor<8x63xf32>
  %9 = dlc.add %8, %5 : (tensor<8x63xf32>, tensor<8x63xf32>) -> tensor<8x63xf32>
  return %9 : tensor<8x63xf32>
}
