// RUN: %dlc-opt %s --split-input-file --dlc-infer-shapes=batch=4 --verify-diagnostics | FileCheck %s
// RUN: not %dlc-opt %s --split-input-file --dlc-infer-shapes 2>&1 | FileCheck %s --check-prefix=UNBOUND

// CHECK-LABEL: @forward(%arg0: tensor<4x2x3xf32>
// CHECK-SAME: -> tensor<4x10xf32>
// CHECK: dlc.reshape {{.*}} -> tensor<4x6xf32>
// CHECK: dlc.matmul {{.*}} -> tensor<4x10xf32>
// CHECK: dlc.cast {{.*}} -> tensor<4x10xf64>
// CHECK: dlc.broadcast {{.*}} -> tensor<2x4x10xf32>
// UNBOUND: input 'image' has a dynamic dimension 0 in 'tensor<?x2x3xf32>'; set the batch size
func.func @forward(%x: tensor<?x2x3xf32> {dlc.name = "image"}, %w: tensor<6x10xf32>) -> tensor<?x10xf32> {
  %0 = dlc.reshape %x : (tensor<?x2x3xf32>) -> tensor<?x6xf32>
  %1 = dlc.matmul %0, %w : (tensor<?x6xf32>, tensor<6x10xf32>) -> tensor<?x10xf32>
  %2 = dlc.cast %1 : (tensor<?x10xf32>) -> tensor<?x10xf64>
  %3 = dlc.broadcast %1 : (tensor<?x10xf32>) -> tensor<2x?x10xf32>
  return %1 : tensor<?x10xf32>
}

// -----

// expected-error @+1 {{input 'ids' has a dynamic dimension 1 in 'tensor<?x?xi64>'; bind it by its name in the model}}
func.func @other(%x: tensor<?x?xi64> {dlc.name = "ids"}) -> tensor<?x?xi64> {
  return %x : tensor<?x?xi64>
}

// -----

func.func @open(%x: tensor<4x6xf32>) -> tensor<?x?xf32> {
  // expected-error @+1 {{the shape of 'dlc.reshape' stays dynamic: 'tensor<?x?xf32>'}}
  %0 = dlc.reshape %x : (tensor<4x6xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

func.func @clash(%x: tensor<?x6xf32>, %y: tensor<5x6xf32>) -> tensor<?x6xf32> {
  // expected-error @+1 {{shapes 4x6 and 5x6 do not broadcast}}
  %0 = dlc.add %x, %y : (tensor<?x6xf32>, tensor<5x6xf32>) -> tensor<5x6xf32>
  return %x : tensor<?x6xf32>
}
