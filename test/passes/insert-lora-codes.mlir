// RUN: %dlc-opt %s --dlc-insert-lora="lora=2 lora-alpha=2" | FileCheck %s
// RUN: not %dlc-opt %s --dlc-insert-lora="lora=2 lora-targets=mask" 2>&1 | FileCheck %s --check-prefix=NONE

// A weight that constant bytes stand for has adapters of its own shape, by the name of the bytes; it stays as it is. A
// constant factor of floats has none, nor has what is made of an input.
// CHECK: module attributes {dlc.adapters = [{a = "codes.lora_A.weight", b = "codes.lora_B.weight", inputs_first = false, scale = 1.000000e+00 : f64, weight = "codes"}]}
// CHECK: dlc.state @codes : tensor<6x2x2x1xi8> const init = "codes"
// CHECK: dlc.state @codes.lora_A.weight : tensor<2x8xf32> param {{.*}} trainable
// CHECK: dlc.state @codes.lora_B.weight : tensor<6x2xf32> param {{.*}} trainable
// CHECK-NOT: dlc.state
// CHECK: %[[W:.*]] = dlc.reshape %{{.*}} -> tensor<6x8xf32>
// CHECK: dlc.matmul %arg0, %[[W]] {trans_b}
// CHECK: %[[A:.*]] = dlc.read @codes.lora_A.weight
// CHECK: %[[B:.*]] = dlc.read @codes.lora_B.weight
// CHECK: %[[H:.*]] = dlc.matmul %arg0, %[[A]] {trans_b}
// CHECK: dlc.matmul %[[H]], %[[B]] {trans_b}
// NONE: error: --lora: no weight of a matrix product or an ungrouped convolution matches --lora-targets
dlc.state @codes : tensor<6x2x2x1xi8> const init = "codes"
dlc.state @scales : tensor<6x2x1x1xf32> const init = "scales"
dlc.state @mask : tensor<6x6xf32> const init = "mask"
func.func @predict(%x: tensor<4x8xf32>, %i: tensor<6x6xi8>) -> tensor<4x6xf32> {
  %c = dlc.read @codes : tensor<6x2x2x1xi8>
  %s = dlc.read @scales : tensor<6x2x1x1xf32>
  %m = dlc.read @mask : tensor<6x6xf32>
  %shifts = dlc.constant dense<[1, 16]> : tensor<2xi8>
  %q = dlc.div %c, %shifts : (tensor<6x2x2x1xi8>, tensor<2xi8>) -> tensor<6x2x2x2xi8>
  %f = dlc.cast %q : (tensor<6x2x2x2xi8>) -> tensor<6x2x2x2xf32>
  %v = dlc.mul %f, %s : (tensor<6x2x2x2xf32>, tensor<6x2x1x1xf32>) -> tensor<6x2x2x2xf32>
  %w = dlc.reshape %v : (tensor<6x2x2x2xf32>) -> tensor<6x8xf32>
  %0 = dlc.matmul %x, %w {trans_b} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %1 = dlc.matmul %0, %m : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %j = dlc.cast %i : (tensor<6x6xi8>) -> tensor<6x6xf32>
  %2 = dlc.matmul %1, %j : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}
