// exp of f32 is the device's power of two, scaled by the bits of an exponent:
// eight instructions, without a conversion to an integer and back.
// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=80 --emit=ptx | FileCheck %s

// CHECK-LABEL: .entry exp(
// CHECK:      fma.rn.f32
// CHECK-NEXT: cvt.sat.f32.f32
// CHECK-NEXT: fma.rn.f32
// CHECK-NEXT: add.rn.f32
// CHECK-NEXT: neg.f32
// CHECK-NEXT: fma.rn.f32
// CHECK-NEXT: fma.rn.f32
// CHECK-NEXT: shl.b32
// CHECK-NEXT: ex2.approx.ftz.f32
// CHECK-NEXT: mul.f32
exec.kernel @exp {
^bb0(%x: tensor<64xf32>):
  %y = dlc.exp %x : (tensor<64xf32>) -> tensor<64xf32>
  dlc.yield %y : tensor<64xf32>
}

// erf is two polynomials, of the square and of the size, without a division or
// a choice of coefficients.
// CHECK-LABEL: .entry erf(
// CHECK-NOT: div.
// CHECK: min.NaN.f32
// CHECK-COUNT-12: fma.rn.f32
// CHECK-NEXT: ex2.approx.ftz.f32
// CHECK-NOT: div.
// CHECK: ret
exec.kernel @erf {
^bb0(%x: tensor<64xf32>):
  %y = dlc.erf %x : (tensor<64xf32>) -> tensor<64xf32>
  dlc.yield %y : tensor<64xf32>
}
