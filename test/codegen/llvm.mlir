// RUN: dlc-codegen %s --emit=llvm --cpu=skylake-avx512 | FileCheck %s
// RUN: dlc-codegen %s --emit=llvm --cpu=haswell | FileCheck %s --check-prefix=AVX2
// RUN: dlc-codegen %s --emit=llvm --cpu=cooperlake | FileCheck %s --check-prefix=BF16

// 512-bit code, no call into libm, no run-time checks for overlapping buffers.
// CHECK-LABEL: define void @soft(
// CHECK-NOT: memcheck
// CHECK-NOT: call float @exp
// CHECK: load <16 x float>
// CHECK: fadd reassoc nsz contract <16 x float>
// CHECK: store <16 x float>
// AVX2-LABEL: define void @soft(
// AVX2: load <8 x float>
// AVX2: store <8 x float>
exec.kernel @soft {
^bb0(%x: tensor<128x1024xf32>):
  %e = dlc.exp %x : (tensor<128x1024xf32>) -> tensor<128x1024xf32>
  %s = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : (tensor<128x1024xf32>) -> tensor<128x1xf32>
  %y = dlc.div %e, %s : (tensor<128x1024xf32>, tensor<128x1xf32>) -> tensor<128x1024xf32>
  dlc.yield %y : tensor<128x1024xf32>
}

// An f64 function stays libm's: the intrinsic becomes calls of exp.
// CHECK-LABEL: define void @exact(
// CHECK: call {{.*}}@{{(llvm\.)?}}exp
exec.kernel @exact {
^bb0(%x: tensor<128xf64>):
  %e = dlc.exp %x : (tensor<128xf64>) -> tensor<128xf64>
  dlc.yield %e : tensor<128xf64>
}

// Without avx512bf16, rounding is integer arithmetic and never a call.
// AVX2-LABEL: define void @half(
// AVX2-NOT: fptrunc
// AVX2: ret void
// CHECK-LABEL: define void @half(
// CHECK: store <{{.*}} x i16>
// With it, all lanes of a vector are rounded at once.
// BF16-LABEL: define void @half(
// BF16: fptrunc <16 x float> {{.*}} to <16 x bfloat>
exec.kernel @half {
^bb0(%x: tensor<128xf32>):
  %e = dlc.cast %x : (tensor<128xf32>) -> tensor<128xbf16>
  dlc.yield %e : tensor<128xbf16>
}

// As many lanes as leave nothing to be done one by one, or few; a remainder
// under a mask is one vector. What is only read chooses by itself.
// BF16-LABEL: define void @narrow(
// BF16: fptrunc <8 x float> {{.*}} to <8 x bfloat>
exec.kernel @narrow {
^bb0(%x: tensor<1000x8xbf16>):
  %e = dlc.exp %x : (tensor<1000x8xbf16>) -> tensor<1000x8xbf16>
  %s = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : (tensor<1000x8xbf16>) -> tensor<1000x1xbf16>
  %y = dlc.div %e, %s : (tensor<1000x8xbf16>, tensor<1000x1xbf16>) -> tensor<1000x8xbf16>
  dlc.yield %y : tensor<1000x8xbf16>
}
// BF16-LABEL: define void @rest(
// BF16: fptrunc <16 x float> {{.*}} to <16 x bfloat>
exec.kernel @rest {
^bb0(%x: tensor<1003xbf16>):
  %y = dlc.mul %x, %x : (tensor<1003xbf16>, tensor<1003xbf16>) -> tensor<1003xbf16>
  dlc.yield %y : tensor<1003xbf16>
}
// BF16-LABEL: define void @sum(
// BF16-NOT: fpext
// BF16: zext <16 x i16>
// BF16: ret void
exec.kernel @sum {
^bb0(%x: tensor<64x1024xbf16>):
  %w = dlc.cast %x : (tensor<64x1024xbf16>) -> tensor<64x1024xf32>
  %s = dlc.reduce_sum %w {axes = array<i64: 1>} : (tensor<64x1024xf32>) -> tensor<64xf32>
  dlc.yield %s : tensor<64xf32>
}
// CHECK: "target-features"="{{.*}}+avx512f
// AVX2-NOT: avx512

// Each operand of a concat, and what lies inside of a pad, is a loop of its own
// without conditions.
// AVX2-LABEL: define void @beside(
// AVX2-NOT: select
// AVX2: load <8 x float>
// AVX2-NOT: select
// AVX2: load <8 x float>
// AVX2-NOT: llvm.masked
// AVX2: ret void
exec.kernel @beside {
^bb0(%x: tensor<100x64xf32>, %z: tensor<100x32xf32>):
  %y = dlc.concat %x, %z {axis = 1} : (tensor<100x64xf32>, tensor<100x32xf32>) -> tensor<100x96xf32>
  dlc.yield %y : tensor<100x96xf32>
}
// AVX2-LABEL: define void @framed(
// AVX2-NOT: llvm.masked
// AVX2: ret void
exec.kernel @framed {
^bb0(%x: tensor<100x64xf32>):
  %y = dlc.pad %x {low = array<i64: 0, 16>, high = array<i64: 0, 16>, interior = array<i64: 0, 0>, value = 2.0 : f64} : (tensor<100x64xf32>) -> tensor<100x96xf32>
  dlc.yield %y : tensor<100x96xf32>
}
