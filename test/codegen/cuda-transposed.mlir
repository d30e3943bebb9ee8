// What lies along another loop than the results crosses shared memory in squares of 32 x 32: neighbouring threads read and
// write neighbouring elements.
// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s
// RUN: dlc-opt %s --dlc-schedule-kernels --dlc-map-threads | FileCheck %s --check-prefix=MAP

// MAP: @images {{.*}} threads = #exec.threads<grid = 1600, block = 256, transposed = 1>
// CHECK-LABEL: .entry images(
// CHECK-NOT: .local
// CHECK: ld.global.b32
// CHECK: st.shared.b32
// CHECK: bar.sync
// CHECK: ld.shared.b32
// CHECK: st.global
// CHECK: ret;
exec.kernel @images {
^bb0(%x: tensor<32x64x784xf32>, %y: tensor<32x784x64xf32>):
  %t = dlc.transpose %x {perm = array<i64: 0, 2, 1>} : (tensor<32x64x784xf32>) -> tensor<32x784x64xf32>
  %s = dlc.add %t, %y : (tensor<32x784x64xf32>, tensor<32x784x64xf32>) -> tensor<32x784x64xf32>
  dlc.yield %s : tensor<32x784x64xf32>
}

// A few channels are a short loop: their images are read along the pixels by adjacent threads as they are.
// MAP: @colours {{.*}} threads = #exec.threads<grid = {{[0-9]+}}, block = 256>
exec.kernel @colours {
^bb0(%x: tensor<32x3x784xf32>):
  %t = dlc.transpose %x {perm = array<i64: 0, 2, 1>} : (tensor<32x3x784xf32>) -> tensor<32x784x3xf32>
  dlc.yield %t : tensor<32x784x3xf32>
}

// Where rows only change places, vectors stay whole.
// MAP: @heads {{.*}} threads = #exec.threads<grid = {{[0-9]+}}, block = 256, vector = 8>
exec.kernel @heads {
^bb0(%x: tensor<4x64x8x64xbf16>):
  %t = dlc.transpose %x {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x64x8x64xbf16>) -> tensor<4x8x64x64xbf16>
  dlc.yield %t : tensor<4x8x64x64xbf16>
}
