// RUN: dlc-opt --dlc-place --dlc-decompose --dlc-fuse --dlc-plan-memory --dlc-schedule-kernels --dlc-map-threads %s | FileCheck %s --check-prefix=MAP
// RUN: dlc-opt --dlc-place --dlc-decompose --dlc-fuse --dlc-plan-memory %s | dlc-codegen - --sm=90 --emit=ptx | FileCheck %s --check-prefix=PTX

// Column sums have registers for the loads of several rows: four blocks of 256 threads a multiprocessor leave each 64. A
// bf16 is the upper half of an f32.
// MAP: threads = #exec.threads<grid = 512, block = 256, vector = 8, across = 16>
// PTX: .entry k0
// PTX: .maxntid 256
// PTX-NEXT: .minnctapersm 4
// PTX: shl.b32 {{.*}}, 16;
// PTX: and.b32 {{.*}}, -65536;
// PTX-NOT: cvt.f32.bf16
// PTX: ret
func.func @eval_step(%x: tensor<256x3136x256xbf16>) -> tensor<256x256xf32> {
  %w = dlc.cast %x : (tensor<256x3136x256xbf16>) -> tensor<256x3136x256xf32>
  %y = dlc.reduce_sum %w {axes = array<i64: 1>} : (tensor<256x3136x256xf32>) -> tensor<256x256xf32>
  return %y : tensor<256x256xf32>
}

// Threads that keep more than their sums are fewer.
// PTX: .entry k1
// PTX: .minnctapersm 3
func.func @train_step(%x: tensor<256x3136x256xbf16>, %m: tensor<256xf32>, %s: tensor<256xf32>, %a: tensor<256xf32>, %d: tensor<256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>) {
  %w = dlc.cast %x : (tensor<256x3136x256xbf16>) -> tensor<256x3136x256xf32>
  %c = dlc.sub %w, %m : (tensor<256x3136x256xf32>, tensor<256xf32>) -> tensor<256x3136x256xf32>
  %k = dlc.mul %c, %s : (tensor<256x3136x256xf32>, tensor<256xf32>) -> tensor<256x3136x256xf32>
  %l = dlc.add %k, %a : (tensor<256x3136x256xf32>, tensor<256xf32>) -> tensor<256x3136x256xf32>
  %n = dlc.mul %l, %d : (tensor<256x3136x256xf32>, tensor<256xf32>) -> tensor<256x3136x256xf32>
  %t = dlc.reduce_sum %n {axes = array<i64: 1>} : (tensor<256x3136x256xf32>) -> tensor<256x256xf32>
  %q = dlc.mul %n, %n : (tensor<256x3136x256xf32>, tensor<256x3136x256xf32>) -> tensor<256x3136x256xf32>
  %u = dlc.reduce_sum %q {axes = array<i64: 1>} : (tensor<256x3136x256xf32>) -> tensor<256x256xf32>
  return %t, %u : tensor<256x256xf32>, tensor<256x256xf32>
}
