// RUN: dlc-codegen %s --emit=llvm | FileCheck %s
// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s --check-prefix=PTX

// A sum of a product is one operation in the loop that reduces it and in the one that stores it, whoever else reads the product:
// both must have the same bits. No sum is left to be fused where LLVM or ptxas likes.
// CHECK-LABEL: @k
// CHECK-NOT: fadd
// CHECK: @llvm.fmuladd
// CHECK-NOT: fadd
// CHECK: @llvm.fmuladd
// CHECK-NOT: fadd contract
// PTX-NOT: add.f32
// PTX: fma.rn.f32
// PTX-NOT: {{add|sub}}.f32
// PTX: sub.rn.f32
exec.kernel @k {
^bb0(%a: tensor<64x1024xf32>, %b: tensor<64x1024xf32>, %c: tensor<64x1024xf32>):
  %p = dlc.mul %a, %b : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %x = dlc.add %c, %p : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %y = dlc.sub %x, %c : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %m = dlc.reduce_max %x {axes = array<i64: 1>} : (tensor<64x1024xf32>) -> tensor<64xf32>
  dlc.yield %p, %x, %m, %y : tensor<64x1024xf32>, tensor<64x1024xf32>, tensor<64xf32>, tensor<64x1024xf32>
}
