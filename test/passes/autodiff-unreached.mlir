// RUN: %dlc-opt %s --dlc-autodiff --verify-diagnostics | FileCheck %s

// A state that the loss does not depend on keeps its value, as PyTorch's optimizers skip a parameter without gradient.
dlc.state @used : tensor<3xf32> param init = "used" trainable
// expected-remark @below {{the loss does not depend on @beside; it keeps its value}}
dlc.state @beside : tensor<3xf32> param init = "beside" trainable
// expected-remark @below {{the loss does not depend on @rounded; it keeps its value}}
dlc.state @rounded : tensor<3xf32> param init = "rounded" trainable
// CHECK: dlc.state @used {{.*}} trainable
// CHECK: dlc.state @beside {{.*}} init = "beside"{{$}}
// CHECK: dlc.state @rounded {{.*}} init = "rounded"{{$}}
func.func @train_step() -> (tensor<f32>, tensor<3xf32>) {
  %u = dlc.read @used : tensor<3xf32>
  %b = dlc.read @beside : tensor<3xf32>
  %r = dlc.read @rounded : tensor<3xf32>
  %s = dlc.sign %r : (tensor<3xf32>) -> tensor<3xf32>
  %p = dlc.mul %u, %s : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %loss = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %loss, %b : tensor<f32>, tensor<3xf32>
}
// CHECK-COUNT-1: dlc.gradient
// CHECK-NOT: dlc.gradient
