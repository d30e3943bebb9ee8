// RUN: %dlc-opt %s --canonicalize | FileCheck %s

// What reads all gradients reads them where they are: no other form of them is in memory.
// CHECK-LABEL: func @clamped
// CHECK-NEXT: [[Y:%.*]] = dlc.global_norm %arg0, %arg1 {limit = 5.000000e-01 : f64}
// CHECK-NEXT: return [[Y]]
func.func @clamped(%a: tensor<4xf32>, %b: tensor<2x3xf32>) -> tensor<f32> {
  %high = dlc.constant dense<0.5> : tensor<f32>
  %low = dlc.constant dense<-0.5> : tensor<f32>
  %0 = dlc.min %a, %high : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = dlc.max %0, %low : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = dlc.min %b, %high : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %3 = dlc.max %2, %low : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %y = dlc.global_norm %1, %3 : (tensor<4xf32>, tensor<2x3xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// Other limits are left alone, and so is a limit on one side.
// CHECK-LABEL: func @other_limits
// CHECK: dlc.global_norm
// CHECK-NOT: limit
func.func @other_limits(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
  %high = dlc.constant dense<0.5> : tensor<f32>
  %higher = dlc.constant dense<0.75> : tensor<f32>
  %low = dlc.constant dense<-0.5> : tensor<f32>
  %lower = dlc.constant dense<-0.75> : tensor<f32>
  %0 = dlc.min %a, %high : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = dlc.max %0, %low : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = dlc.min %b, %higher : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = dlc.max %2, %lower : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = dlc.max %2, %low : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = dlc.global_norm %1, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %z = dlc.global_norm %4 : (tensor<4xf32>) -> tensor<f32>
  return %y, %z : tensor<f32>, tensor<f32>
}

// A scale is not pulled out of a norm with a limit.
// CHECK-LABEL: func @scaled
// CHECK: [[X:%.*]] = dlc.mul %arg0, %arg1
// CHECK: dlc.global_norm [[X]] {limit = 5.000000e-01 : f64}
func.func @scaled(%a: tensor<4xf32>, %s: tensor<f32>) -> tensor<f32> {
  %high = dlc.constant dense<0.5> : tensor<f32>
  %low = dlc.constant dense<-0.5> : tensor<f32>
  %x = dlc.mul %a, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = dlc.min %x, %high : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = dlc.max %0, %low : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = dlc.global_norm %1 : (tensor<4xf32>) -> tensor<f32>
  return %y : tensor<f32>
}

// CHECK-LABEL: func @widened
// CHECK: dlc.all_finite %arg0, %arg1
// CHECK: dlc.global_norm %arg0, %arg1
func.func @widened(%a: tensor<4xbf16>, %b: tensor<4xf32>) -> (tensor<i1>, tensor<f32>) {
  %0 = dlc.cast %a : (tensor<4xbf16>) -> tensor<4xf32>
  %x = dlc.all_finite %0, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<i1>
  %y = dlc.global_norm %0, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %x, %y : tensor<i1>, tensor<f32>
}

// What is rounded is read as it became.
// CHECK-LABEL: func @rounded
// CHECK: [[X:%.*]] = dlc.cast %arg0
// CHECK: dlc.global_norm [[X]]
func.func @rounded(%a: tensor<4xf32>) -> tensor<f32> {
  %0 = dlc.cast %a : (tensor<4xf32>) -> tensor<4xbf16>
  %y = dlc.global_norm %0 : (tensor<4xbf16>) -> tensor<f32>
  return %y : tensor<f32>
}
