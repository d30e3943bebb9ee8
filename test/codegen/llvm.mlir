// RUN: dlc-codegen %s --emit=llvm --cpu=skylake-avx512 | FileCheck %s
// RUN: dlc-codegen %s --emit=llvm --cpu=haswell | FileCheck %s --check-prefix=AVX2

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
exec.kernel @half {
^bb0(%x: tensor<128xf32>):
  %e = dlc.cast %x : (tensor<128xf32>) -> tensor<128xbf16>
  dlc.yield %e : tensor<128xbf16>
}
// CHECK: "target-features"="{{.*}}+avx512f
// AVX2-NOT: avx512
