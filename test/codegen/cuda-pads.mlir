// RUN: dlc-opt --dlc-schedule-kernels --dlc-map-threads %s | FileCheck %s --check-prefix=MAP
// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s --check-prefix=PTX

// The gradient of max pooling. What is loaded at a place of the window and all that is computed of it is in one branch
// that threads out of bounds pass by, the addition too; it takes no registers then, so that vectors are long.
// MAP: exec.kernel @f {{.*}} threads = #exec.threads<{{.*}}vector = 8
// PTX: .entry f(
// PTX-COUNT-8: selp.f32
// PTX: bra
// PTX: ld.global.v2.b32
// PTX: ld.global.v4.b32
// PTX-NOT: bra
// PTX-COUNT-8: selp.f32
// PTX-NOT: bra
// PTX: BB0_4:
// PTX-NOT: selp.f32
// PTX: st.global
exec.kernel @f {
^bb0(%x: tensor<32x8x64xbf16>, %i: tensor<32x8x64xi8>):
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %one = dlc.constant dense<1> : tensor<i8>
  %two = dlc.constant dense<2> : tensor<i8>
  %px = dlc.pad %x {low = array<i64: 0, 1, 0>, high = array<i64: 0, 1, 0>, interior = array<i64: 0, 1, 0>, value = 0.0 : f64} : (tensor<32x8x64xbf16>) -> tensor<32x17x64xbf16>
  %pi = dlc.pad %i {low = array<i64: 0, 1, 0>, high = array<i64: 0, 1, 0>, interior = array<i64: 0, 1, 0>, value = 0.0 : f64} : (tensor<32x8x64xi8>) -> tensor<32x17x64xi8>
  %ax = dlc.slice %px {starts = array<i64: 0, 0, 0>, sizes = array<i64: 32, 16, 64>, steps = array<i64: 1, 1, 1>} : (tensor<32x17x64xbf16>) -> tensor<32x16x64xbf16>
  %ai = dlc.slice %pi {starts = array<i64: 0, 0, 0>, sizes = array<i64: 32, 16, 64>, steps = array<i64: 1, 1, 1>} : (tensor<32x17x64xi8>) -> tensor<32x16x64xi8>
  %bx = dlc.slice %px {starts = array<i64: 0, 1, 0>, sizes = array<i64: 32, 16, 64>, steps = array<i64: 1, 1, 1>} : (tensor<32x17x64xbf16>) -> tensor<32x16x64xbf16>
  %bi = dlc.slice %pi {starts = array<i64: 0, 1, 0>, sizes = array<i64: 32, 16, 64>, steps = array<i64: 1, 1, 1>} : (tensor<32x17x64xi8>) -> tensor<32x16x64xi8>
  %ac = dlc.compare eq %ai, %one : (tensor<32x16x64xi8>, tensor<i8>) -> tensor<32x16x64xi1>
  %bc = dlc.compare eq %bi, %two : (tensor<32x16x64xi8>, tensor<i8>) -> tensor<32x16x64xi1>
  %af = dlc.cast %ax : (tensor<32x16x64xbf16>) -> tensor<32x16x64xf32>
  %bf = dlc.cast %bx : (tensor<32x16x64xbf16>) -> tensor<32x16x64xf32>
  %as = dlc.select %ac, %af, %zero : (tensor<32x16x64xi1>, tensor<32x16x64xf32>, tensor<f32>) -> tensor<32x16x64xf32>
  %bs = dlc.select %bc, %bf, %zero : (tensor<32x16x64xi1>, tensor<32x16x64xf32>, tensor<f32>) -> tensor<32x16x64xf32>
  %s = dlc.add %as, %bs : (tensor<32x16x64xf32>, tensor<32x16x64xf32>) -> tensor<32x16x64xf32>
  %y = dlc.cast %s : (tensor<32x16x64xf32>) -> tensor<32x16x64xbf16>
  dlc.yield %y : tensor<32x16x64xbf16>
}
