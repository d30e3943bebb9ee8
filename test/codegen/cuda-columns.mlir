// RUN: dlc-opt --dlc-fuse --dlc-plan-memory %s | dlc-codegen - --sm=90 --emit=ptx | FileCheck %s

// Sums of two arrays of halves wait for 64 bytes a thread: two rows are loaded before the first is added.
// CHECK: .entry k0
// CHECK-NOT: fma.rn
// CHECK: ld.global.v4
// CHECK-NOT: fma.rn
// CHECK: ld.global.v4
// CHECK-NOT: fma.rn
// CHECK: ld.global.v4
// CHECK-NOT: fma.rn
// CHECK: ld.global.v4
// CHECK: fma.rn.f32
func.func @train_step(%x: tensor<32x3001x256xbf16>, %y: tensor<32x3001x256xbf16>) -> tensor<32x256xf32> {
  %a = dlc.cast %x : (tensor<32x3001x256xbf16>) -> tensor<32x3001x256xf32>
  %b = dlc.cast %y : (tensor<32x3001x256xbf16>) -> tensor<32x3001x256xf32>
  %p = dlc.mul %a, %b : (tensor<32x3001x256xf32>, tensor<32x3001x256xf32>) -> tensor<32x3001x256xf32>
  %s = dlc.reduce_sum %p {axes = array<i64: 1>} : (tensor<32x3001x256xf32>) -> tensor<32x256xf32>
  return %s : tensor<32x256xf32>
}
