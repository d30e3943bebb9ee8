// Products of 8-bit floats: a call of a GPU's library; on CPUs products of bf16, in which the values are exact.
// RUN: %dlc-opt %s --dlc-place | FileCheck %s --check-prefix=GPU
// RUN: %dlc-opt %s --dlc-decompose | FileCheck %s

// GPU-LABEL: @train_step
// GPU: dlc.scaled_matmul {{.*}} by = library {format_a = "e5m2", format_b = "e4m3"}

// CHECK-LABEL: @decomposed
// The transposed operand is stored once: a flag of the product.
// CHECK: [[A:%.*]] = dlc.float8_decode %arg0 {format = "e5m2"} : (tensor<32x16xi8>) -> tensor<32x16xf32>
// CHECK: [[AH:%.*]] = dlc.cast [[A]] : {{.*}} -> tensor<32x16xbf16>
// CHECK: [[B:%.*]] = dlc.float8_decode %arg1 {format = "e4m3"}
// CHECK: [[BH:%.*]] = dlc.cast [[B]] : {{.*}} -> tensor<48x32xbf16>
// CHECK: [[P:%.*]] = dlc.matmul [[AH]], [[BH]] {trans_a, trans_b} : (tensor<32x16xbf16>, tensor<48x32xbf16>) -> tensor<16x48xf32>
// CHECK: [[S:%.*]] = dlc.mul [[P]], %arg2
// CHECK: [[T:%.*]] = dlc.mul [[S]], %arg3
// CHECK: [[C:%.*]] = dlc.cast %arg4 : (tensor<48xbf16>) -> tensor<48xf32>
// CHECK: [[Y:%.*]] = dlc.add [[T]], [[C]]
// CHECK: dlc.cast [[Y]] : (tensor<16x48xf32>) -> tensor<16x48xbf16>
func.func @decomposed(%a: tensor<32x16xi8>, %b: tensor<48x32xi8>, %s: tensor<f32>, %t: tensor<f32>, %c: tensor<48xbf16>) -> tensor<16x48xbf16> {
  %0 = dlc.transpose %a {perm = array<i64: 1, 0>} : (tensor<32x16xi8>) -> tensor<16x32xi8>
  %y = dlc.scaled_matmul %0, %b, %s, %t, %c by = decomposed {format_a = "e5m2", format_b = "e4m3"}
      : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>, tensor<48xbf16>) -> tensor<16x48xbf16>
  return %y : tensor<16x48xbf16>
}
func.func @train_step(%a: tensor<16x32xi8>, %b: tensor<48x32xi8>, %s: tensor<f32>) -> tensor<16x48xbf16> {
  %y = dlc.scaled_matmul %a, %b, %s, %s {format_a = "e5m2", format_b = "e4m3"}
      : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>
  return %y : tensor<16x48xbf16>
}
