// RUN: %dlc-opt %s | %dlc-opt | FileCheck %s
// RUN: %dlc-opt %s --mlir-print-op-generic | %dlc-opt | FileCheck %s

// CHECK-LABEL: func @copies
func.func @copies(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: %[[H:.*]] = dlc.offload %arg0 : (tensor<2x3xf32>) -> tensor<2x3xf32, "host">
  %h = dlc.offload %x : (tensor<2x3xf32>) -> tensor<2x3xf32, "host">
  // CHECK: %[[K:.*]] = dlc.wait_copy %[[H]], %arg0 : (tensor<2x3xf32, "host">, tensor<2x3xf32>) -> tensor<2x3xf32, "host">
  %k = dlc.wait_copy %h, %x : (tensor<2x3xf32, "host">, tensor<2x3xf32>) -> tensor<2x3xf32, "host">
  // CHECK: %[[F:.*]] = dlc.fetch %[[K]] : (tensor<2x3xf32, "host">) -> tensor<2x3xf32>
  %f = dlc.fetch %k : (tensor<2x3xf32, "host">) -> tensor<2x3xf32>
  // CHECK: dlc.wait_copy %[[F]], %[[K]] : (tensor<2x3xf32>, tensor<2x3xf32, "host">) -> tensor<2x3xf32>
  %y = dlc.wait_copy %f, %k : (tensor<2x3xf32>, tensor<2x3xf32, "host">) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

exec.region @scratch "scratch" bytes = 256
exec.region @host "host" bytes = 64
// CHECK-LABEL: exec.program @step
exec.program @step scratch = 256 {
  %x = exec.buffer @scratch at 0 : memref<4x4xf32>
  %y = exec.buffer @scratch at 64 : memref<4x4xf32>
  %h = exec.buffer @host at 0 : memref<4x4xf32>
  // CHECK: exec.offload %{{.*}} to %{{.*}} copy = 0 : memref<4x4xf32>, memref<4x4xf32>
  exec.offload %x to %h copy = 0 : memref<4x4xf32>, memref<4x4xf32>
  // CHECK: exec.wait_copy %{{.*}} copy = 0 : memref<4x4xf32>
  exec.wait_copy %x copy = 0 : memref<4x4xf32>
  // CHECK: exec.fetch %{{.*}} to %{{.*}} copy = 1 : memref<4x4xf32>, memref<4x4xf32>
  exec.fetch %h to %y copy = 1 : memref<4x4xf32>, memref<4x4xf32>
  exec.wait_copy %y copy = 1 : memref<4x4xf32>
}
