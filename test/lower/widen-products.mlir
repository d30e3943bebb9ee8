// RUN: %dlc-opt %s --dlc-fuse --dlc-widen-products | FileCheck %s

// The gradient of a weight is written in f32 at once, also behind a view.
// CHECK-LABEL: func @gradient
// CHECK: %[[W:.*]] = dlc.matmul %arg0, %arg1 by = library {trans_a} : (tensor<64x8xbf16>, tensor<64x4xbf16>) -> tensor<8x4xf32>
// CHECK: %[[V:.*]] = dlc.reshape %[[W]] : (tensor<8x4xf32>) -> tensor<2x4x4xf32>
// CHECK-NOT: dlc.fused
// CHECK: return %[[V]]
func.func @gradient(%x: tensor<64x8xbf16>, %dy: tensor<64x4xbf16>) -> tensor<2x4x4xf32> {
  %w = dlc.matmul %x, %dy by = library {trans_a} : (tensor<64x8xbf16>, tensor<64x4xbf16>) -> tensor<8x4xbf16>
  %v = dlc.reshape %w : (tensor<8x4xbf16>) -> tensor<2x4x4xbf16>
  %g = dlc.cast %v : (tensor<2x4x4xbf16>) -> tensor<2x4x4xf32>
  return %g : tensor<2x4x4xf32>
}

// Not what somebody reads in bf16, has a bias or an activation, is f16, or is computed with behind the cast.
// CHECK-LABEL: func @others
// CHECK-COUNT-4: dlc.matmul {{.*}} -> tensor<8x4xbf16>
// CHECK: dlc.matmul {{.*}} -> tensor<8x4xf16>
func.func @others(%x: tensor<64x8xbf16>, %dy: tensor<64x4xbf16>, %b: tensor<4xbf16>, %h: tensor<8x64xf16>, %k: tensor<64x4xf16>)
    -> (tensor<8x4xbf16>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = dlc.matmul %x, %dy by = library {trans_a} : (tensor<64x8xbf16>, tensor<64x4xbf16>) -> tensor<8x4xbf16>
  %c0 = dlc.cast %0 : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %1 = dlc.matmul %x, %dy, %b by = library {trans_a} : (tensor<64x8xbf16>, tensor<64x4xbf16>, tensor<4xbf16>) -> tensor<8x4xbf16>
  %c1 = dlc.cast %1 : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %2 = dlc.matmul %x, %dy by = library {activation = "relu", trans_a} : (tensor<64x8xbf16>, tensor<64x4xbf16>) -> tensor<8x4xbf16>
  %c2 = dlc.cast %2 : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %3 = dlc.matmul %x, %dy by = library {trans_a} : (tensor<64x8xbf16>, tensor<64x4xbf16>) -> tensor<8x4xbf16>
  %c3 = dlc.cast %3 : (tensor<8x4xbf16>) -> tensor<8x4xf32>
  %n3 = dlc.neg %c3 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = dlc.matmul %h, %k by = library : (tensor<8x64xf16>, tensor<64x4xf16>) -> tensor<8x4xf16>
  %c4 = dlc.cast %4 : (tensor<8x4xf16>) -> tensor<8x4xf32>
  return %0, %c0, %c1, %c2, %n3, %c4 : tensor<8x4xbf16>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}
