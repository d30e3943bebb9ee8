// RUN: %dlc-opt %s --dlc-decompose | FileCheck %s --check-prefix=CALL
// RUN: %dlc-opt %s --dlc-place --dlc-decompose | FileCheck %s

// A device that has the call keeps it. Elsewhere each operand gives a number, and these together the result.
// CALL-LABEL: func @all_finite
// CALL-NEXT: dlc.all_finite
// CHECK-LABEL: func @all_finite
// CHECK: %[[FINITE:.*]] = dlc.is_finite %arg0
// CHECK: %[[BAD:.*]] = dlc.select %[[FINITE]], %{{.*}}, %{{.*}} -> tensor<4x3xf32>
// CHECK: %[[A:.*]] = dlc.reduce_max %[[BAD]] {axes = array<i64: 0, 1>} {{.*}} -> tensor<f32>
// CHECK: dlc.is_finite %arg1
// CHECK: %[[B:.*]] = dlc.reduce_max {{.*}} -> tensor<f32>
// CHECK: %[[WORST:.*]] = dlc.max %[[A]], %[[B]]
// CHECK: %[[Y:.*]] = dlc.compare eq %[[WORST]], {{.*}} -> tensor<i1>
// CHECK: return %[[Y]]
func.func @all_finite(%a: tensor<4x3xf16>, %b: tensor<7xf32>) -> tensor<i1> {
  %y = dlc.all_finite %a, %b : (tensor<4x3xf16>, tensor<7xf32>) -> tensor<i1>
  return %y : tensor<i1>
}

// CALL-LABEL: func @global_norm
// CALL-NEXT: dlc.global_norm
// CHECK-LABEL: func @global_norm
// CHECK: %[[WIDE:.*]] = dlc.cast %arg0 {{.*}} -> tensor<4x3xf64>
// CHECK: %[[SQUARES:.*]] = dlc.mul %[[WIDE]], %[[WIDE]]
// CHECK: dlc.reduce_sum %[[SQUARES]] {{.*}} -> tensor<f64>
// CHECK: %[[ALL:.*]] = dlc.add
// CHECK: %[[NORM:.*]] = dlc.sqrt %[[ALL]] {{.*}} -> tensor<f64>
// CHECK: dlc.cast %[[NORM]] {{.*}} -> tensor<f32>
func.func @global_norm(%a: tensor<4x3xf32>, %b: tensor<7xf32>) -> tensor<f32> {
  %y = dlc.global_norm %a, %b : (tensor<4x3xf32>, tensor<7xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// CALL-LABEL: func @norm_within
// CALL-NEXT: dlc.global_norm %arg0 {limit = 2.000000e+00 : f64}
// CHECK-LABEL: func @norm_within
// CHECK-DAG: %[[WIDE:.*]] = dlc.cast %arg0 {{.*}} -> tensor<7xf64>
// CHECK-DAG: %[[HIGH:.*]] = dlc.constant dense<2.000000e+00> : tensor<f64>
// CHECK: %[[BELOW:.*]] = dlc.min %[[WIDE]], %[[HIGH]]
// CHECK: %[[WITHIN:.*]] = dlc.max %[[BELOW]],
// CHECK: dlc.mul %[[WITHIN]], %[[WITHIN]]
func.func @norm_within(%a: tensor<7xf32>) -> tensor<f32> {
  %y = dlc.global_norm %a {limit = 2.0 : f64} : (tensor<7xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
