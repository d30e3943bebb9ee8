// RUN: %dlc-opt %s --dlc-canonicalize --split-input-file --verify-diagnostics | FileCheck %s

// A product over no columns is its bias, and an op without results its shape.
// CHECK-LABEL: @products
// CHECK-DAG: [[Z:%.*]] = dlc.constant dense<0.000000e+00> : tensor<2x4xf32>
// CHECK-DAG: [[E:%.*]] = dlc.constant dense<0.000000e+00> : tensor<0x4xf32>
// CHECK-DAG: [[B:%.*]] = dlc.broadcast %arg2
// CHECK: return [[Z]], [[B]], [[E]]
func.func @products(%x: tensor<2x0xf32>, %w: tensor<0x4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<0x4xf32>) {
  %0 = dlc.matmul %x, %w : (tensor<2x0xf32>, tensor<0x4xf32>) -> tensor<2x4xf32>
  %1 = dlc.matmul %x, %w, %b : (tensor<2x0xf32>, tensor<0x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = dlc.exp %w : (tensor<0x4xf32>) -> tensor<0x4xf32>
  return %0, %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<0x4xf32>
}

// -----

// CHECK-LABEL: @joined
// CHECK-NOT: dlc.concat
// CHECK: return %arg0
func.func @joined(%x: tensor<2x3xf32>, %e: tensor<0x3xf32>) -> tensor<2x3xf32> {
  %0 = dlc.concat %e, %x, %e {axis = 0 : i64} : (tensor<0x3xf32>, tensor<2x3xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @refused(%x: tensor<0x3xf32>) -> tensor<3xi64> {
  // expected-error @below {{reads a tensor without elements, 'tensor<0x3xf32>', of which it has no result}}
  %0 = dlc.argmax %x {axes = array<i64: 0>} : (tensor<0x3xf32>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}
