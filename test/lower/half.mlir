// What sums up does so in f32, whatever its operands are: statistics, softmax, losses and their gradients.
// RUN: %dlc-opt %s --dlc-decompose | FileCheck %s
// RUN: %dlc-opt %s --dlc-decompose | FileCheck %s --check-prefix=NEVER
// NEVER-NOT: dlc.reduce_{{sum|mean}} {{.*}}bf16
// NEVER-NOT: dlc.{{exp|log|rsqrt|div}} {{.*}}bf16

// CHECK-LABEL: @softmax
// CHECK: dlc.exp {{.*}} -> tensor<4x8xf32>
// CHECK: dlc.reduce_sum {{.*}} -> tensor<4x1xf32>
// CHECK: dlc.div {{.*}} -> tensor<4x8xf32>
// CHECK: dlc.reduce_sum {{.*}} -> tensor<4x1xf32>
// CHECK: return {{.*}} : tensor<4x8xbf16>, tensor<4x8xbf16>
func.func @softmax(%x: tensor<4x8xbf16>, %dy: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %y = dlc.softmax %x {axis = 1 : i64} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %dx = dlc.softmax_backward %dy, %y {axis = 1 : i64} : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %y, %dx : tensor<4x8xbf16>, tensor<4x8xbf16>
}

// CHECK-LABEL: @log_softmax
// CHECK: dlc.reduce_sum {{.*}} -> tensor<4x1xf32>
// CHECK: dlc.log {{.*}} -> tensor<4x1xf32>
// CHECK: dlc.reduce_sum {{.*}} -> tensor<4x1xf32>
func.func @log_softmax(%x: tensor<4x8xbf16>, %dy: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %y = dlc.log_softmax %x {axis = 1 : i64} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %dx = dlc.log_softmax_backward %dy, %y {axis = 1 : i64} : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %y, %dx : tensor<4x8xbf16>, tensor<4x8xbf16>
}

// CHECK-LABEL: @layer_norm
// CHECK: dlc.reduce_mean {{.*}} -> tensor<4x1xf32>
// CHECK: dlc.reduce_mean {{.*}} -> tensor<4x1xf32>
// CHECK: dlc.rsqrt {{.*}} -> tensor<4x1xf32>
// CHECK: dlc.reduce_mean {{.*}} -> tensor<4x1xf32>
// CHECK: dlc.reduce_mean {{.*}} -> tensor<4x1xf32>
// CHECK: dlc.reduce_sum {{.*}} -> tensor<1x8xf32>
// CHECK: return {{.*}} : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<8xf32>
func.func @layer_norm(%x: tensor<4x8xbf16>, %s: tensor<8xf32>, %dy: tensor<4x8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<8xf32>) {
  %y, %mean, %rstd = dlc.layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xbf16>, tensor<4x1xf32>, tensor<4x1xf32>)
  %dx, %ds, %db = dlc.layer_norm_backward %dy, %x, %s, %mean, %rstd {axis = 1 : i64} : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<8xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> (tensor<4x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  return %y, %dx, %ds : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<8xf32>
}

// CHECK-LABEL: @loss
// CHECK: dlc.exp {{.*}} -> tensor<4x8xf32>
// CHECK: dlc.reduce_sum {{.*}} -> tensor<4x1xf32>
// CHECK: dlc.log {{.*}} -> tensor<4x1xf32>
func.func @loss(%x: tensor<4x8xbf16>, %y: tensor<4xi64>) -> tensor<4xbf16> {
  %loss, %lse = dlc.softmax_cross_entropy %x, %y : (tensor<4x8xbf16>, tensor<4xi64>) -> (tensor<4xbf16>, tensor<4xbf16>)
  return %loss : tensor<4xbf16>
}
