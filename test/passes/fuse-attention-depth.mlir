// RUN: %dlc-opt %s --dlc-fuse-attention="target=cuda amp" | FileCheck %s
// RUN: %dlc-opt %s --dlc-fuse-attention="target=cuda attention=generated" | FileCheck %s --check-prefix=ASKED

// No multiple of 8 numbers a head: no library has it.
// CHECK-LABEL: func @depth_12
// CHECK-NOT: dlc.attention

// What is asked for stays one op: dlc-place-attention says why it cannot be.
// ASKED: dlc.attention
module {
func.func @depth_12(%q: tensor<2x4x6x12xf32>, %k: tensor<2x4x6x12xf32>, %v: tensor<2x4x6x12xf32>) -> tensor<2x4x6x12xf32> {
  %s = dlc.matmul %q, %k {trans_b} : (tensor<2x4x6x12xf32>, tensor<2x4x6x12xf32>) -> tensor<2x4x6x6xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x6x6xf32>, tensor<2x4x6x12xf32>) -> tensor<2x4x6x12xf32>
  return %o : tensor<2x4x6x12xf32>
}
}
