// Products on tensor cores: tiles, asynchronous copies of what is multiplied as it is, 128-bit accesses.
// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=80 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=100 --emit=ptx | FileCheck %s
// RUN: dlc-opt %s --dlc-schedule-kernels --dlc-map-threads | FileCheck %s --check-prefix=MAP

// Enough tiles for a large device: they are large.
// MAP: @linear {{.*}} threads = #exec.threads<grid = 192, block = 256, vector = 4, tile = 128x64x32, warps = 4x2, left = depth x 8 copied, right = depth x 8>
// MAP: @backward {{.*}} threads = #exec.threads<grid = 192, block = 128, vector = 8, tile = 32x32x64, warps = 2x2, left = outer x 8 copied, right = outer x 8 copied>
// MAP: @odd {{.*}} threads = #exec.threads<grid = 4, block = 128, tile = 32x32x64, warps = 2x2, left = depth x 1, right = outer x 1>
// MAP: @heads {{.*}} threads = #exec.threads<grid = 256, block = 128, vector = 8, tile = 64x64x32, warps = 2x2, left = depth x 8 copied, right = depth x 8 copied>

// The f32 operand comes by way of registers, as vectors; the residual and the result are vectors, too.
// CHECK-LABEL: .entry linear(
// CHECK-NOT: .local
// CHECK-DAG: cp.async.cg.shared.global {{.*}}, 16
// CHECK-DAG: ld.global.v4.b32
// CHECK-DAG: st.shared.v4.b32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: ld.shared.v4.b32
// CHECK: st.global.v4.b32
// CHECK: ret;
exec.kernel @linear {
^bb0(%x: tensor<4096x256xbf16>, %w: tensor<384x256xf32>, %r: tensor<4096x384xf32>):
  %h = dlc.cast %w : (tensor<384x256xf32>) -> tensor<384x256xbf16>
  %y = dlc.matmul %x, %h {trans_b} : (tensor<4096x256xbf16>, tensor<384x256xbf16>) -> tensor<4096x384xbf16>
  %f = dlc.cast %y : (tensor<4096x384xbf16>) -> tensor<4096x384xf32>
  %z = dlc.add %f, %r : (tensor<4096x384xf32>, tensor<4096x384xf32>) -> tensor<4096x384xf32>
  dlc.yield %z : tensor<4096x384xf32>
}

// Both operands lie along the other dimension: fragments are transposed when they are loaded. Nothing comes through
// registers.
// CHECK-LABEL: .entry backward(
// CHECK-NOT: .local
// CHECK-NOT: ld.global
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: st.global.v4.b32
// CHECK: ret;
exec.kernel @backward {
^bb0(%dy: tensor<4096x256xf16>, %x: tensor<4096x768xf16>):
  %y = dlc.matmul %dy, %x {trans_a} : (tensor<4096x256xf16>, tensor<4096x768xf16>) -> tensor<256x768xf16>
  dlc.yield %y : tensor<256x768xf16>
}

// Sizes that nothing divides: elements one by one, zeros beyond the depth.
// CHECK-LABEL: .entry odd(
// CHECK-NOT: cp.async.c{{[ag]}}
// CHECK: ld.global.b16
// CHECK: mma.sync
// CHECK: st.global.b16
// CHECK: ret;
exec.kernel @odd {
^bb0(%x: tensor<37x17xbf16>, %w: tensor<17x53xbf16>):
  %y = dlc.matmul %x, %w : (tensor<37x17xbf16>, tensor<17x53xbf16>) -> tensor<37x53xbf16>
  dlc.yield %y : tensor<37x53xbf16>
}

// The heads of a projection are read where they lie.
// CHECK-LABEL: .entry heads(
// CHECK-NOT: ld.global
// CHECK: cp.async.cg.shared.global
// CHECK-NOT: .trans
// CHECK: ret;
exec.kernel @heads {
^bb0(%qkv: tensor<16x128x3x4x32xbf16>):
  %q0 = dlc.slice %qkv {sizes = array<i64: 16, 128, 1, 4, 32>, starts = array<i64: 0, 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<16x128x3x4x32xbf16>) -> tensor<16x128x1x4x32xbf16>
  %k0 = dlc.slice %qkv {sizes = array<i64: 16, 128, 1, 4, 32>, starts = array<i64: 0, 0, 1, 0, 0>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<16x128x3x4x32xbf16>) -> tensor<16x128x1x4x32xbf16>
  %q1 = dlc.reshape %q0 : (tensor<16x128x1x4x32xbf16>) -> tensor<16x128x4x32xbf16>
  %k1 = dlc.reshape %k0 : (tensor<16x128x1x4x32xbf16>) -> tensor<16x128x4x32xbf16>
  %q = dlc.transpose %q1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<16x128x4x32xbf16>) -> tensor<16x4x128x32xbf16>
  %k = dlc.transpose %k1 {perm = array<i64: 0, 2, 3, 1>} : (tensor<16x128x4x32xbf16>) -> tensor<16x4x32x128xbf16>
  %s = dlc.matmul %q, %k : (tensor<16x4x128x32xbf16>, tensor<16x4x32x128xbf16>) -> tensor<16x4x128x128xbf16>
  dlc.yield %s : tensor<16x4x128x128xbf16>
}
