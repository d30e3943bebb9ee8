// RUN: %dlc-opt %s --dlc-fuse-attention="target=cpu" --split-input-file | FileCheck %s

// What a CPU takes depends on the numbers of queries and keys, here of operands without heads.
// CHECK-LABEL: func @many_keys
// CHECK: dlc.attention
func.func @many_keys(%q: tensor<8x64x16xf32>, %k: tensor<8x600x16xf32>, %v: tensor<8x600x16xf32>) -> tensor<8x64x16xf32> {
  %s = dlc.matmul %q, %k {trans_b} : (tensor<8x64x16xf32>, tensor<8x600x16xf32>) -> tensor<8x64x600xf32>
  %p = dlc.softmax %s {axis = 2 : i64} : (tensor<8x64x600xf32>) -> tensor<8x64x600xf32>
  %o = dlc.matmul %p, %v : (tensor<8x64x600xf32>, tensor<8x600x16xf32>) -> tensor<8x64x16xf32>
  return %o : tensor<8x64x16xf32>
}

// -----

// Keys that are not as many as queries.
// CHECK-LABEL: func @few_keys
// CHECK-NOT: dlc.attention
func.func @few_keys(%q: tensor<2x4x600x16xf32>, %k: tensor<2x4x64x16xf32>, %v: tensor<2x4x64x16xf32>) -> tensor<2x4x600x16xf32> {
  %s = dlc.matmul %q, %k {trans_b} : (tensor<2x4x600x16xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x600x64xf32>
  %p = dlc.softmax %s {axis = 3 : i64} : (tensor<2x4x600x64xf32>) -> tensor<2x4x600x64xf32>
  %o = dlc.matmul %p, %v : (tensor<2x4x600x64xf32>, tensor<2x4x64x16xf32>) -> tensor<2x4x600x16xf32>
  return %o : tensor<2x4x600x16xf32>
}
