// One graph by each preset's lists and rule.
// RUN: %dlc-opt %s --dlc-autocast | FileCheck %s --check-prefix=DLC
// RUN: %dlc-opt %s --dlc-autocast=amp-preset=torch | FileCheck %s --check-prefix=TORCH
// RUN: %dlc-opt %s --dlc-autocast="amp-preset=torch amp-dtype=fp16" | FileCheck %s --check-prefix=TORCH16
// RUN: %dlc-opt %s --dlc-autocast=amp-preset=tf | FileCheck %s --check-prefix=TF
// RUN: %dlc-opt %s --dlc-autocast=amp-preset=oneflow | FileCheck %s --check-prefix=ONEFLOW
// RUN: %dlc-opt %s --dlc-autocast="amp-preset=torch amp-deny=relu amp-infer=softmax" | FileCheck %s --check-prefix=ASKED

// DLC: dlc.matmul {{.*}} -> tensor<4x4xbf16>
// DLC: dlc.softmax {{.*}} -> tensor<4x4xbf16>
// DLC: dlc.matmul {{.*}} -> tensor<4x4xbf16>
// DLC: dlc.reduce_mean {{.*}} -> tensor<4x1xbf16>
// DLC: dlc.mul {{.*}} -> tensor<4x4xbf16>
// DLC: dlc.matmul {{.*}} -> tensor<4x4xbf16>
// DLC: dlc.relu {{.*}} -> tensor<4x4xbf16>
// DLC: dlc.mul {{.*}} -> tensor<4x4xf32>
// DLC: dlc.add {{.*}} -> tensor<4x4xf32>
// DLC: dlc.log {{.*}} -> tensor<4x4xf32>

// Types follow from operands to results: softmax gives f32, a scalar (0.5) has no say, a vector (the input) does.
// TORCH: dlc.matmul {{.*}} -> tensor<4x4xbf16>
// TORCH: dlc.softmax {{.*}} -> tensor<4x4xf32>
// TORCH: dlc.matmul {{.*}} -> tensor<4x4xbf16>
// TORCH: dlc.reduce_mean {{.*}} -> tensor<4x1xbf16>
// TORCH: dlc.mul {{.*}} -> tensor<4x4xbf16>
// TORCH: dlc.matmul {{.*}} -> tensor<4x4xbf16>
// TORCH: dlc.relu {{.*}} -> tensor<4x4xbf16>
// TORCH: dlc.mul {{.*}} -> tensor<4x4xbf16>
// TORCH: dlc.add {{.*}} -> tensor<4x4xf32>
// TORCH: dlc.log {{.*}} -> tensor<4x4xf32>
// TORCH16: dlc.softmax {{.*}} -> tensor<4x4xf32>
// TORCH16: dlc.mul {{.*}} -> tensor<4x4xf16>

// The mean is denied and taints the product behind it.
// TF: dlc.softmax {{.*}} -> tensor<4x4xbf16>
// TF: dlc.reduce_mean {{.*}} -> tensor<4x1xf32>
// TF: dlc.mul {{.*}} -> tensor<4x4xf32>
// TF: dlc.matmul {{.*}} -> tensor<4x4xbf16>
// TF: dlc.mul {{.*}} -> tensor<4x4xf32>
// TF: dlc.log {{.*}} -> tensor<4x4xf32>

// Nothing is denied, and what follows the last product is half to the end.
// ONEFLOW: dlc.softmax {{.*}} -> tensor<4x4xbf16>
// ONEFLOW: dlc.reduce_mean {{.*}} -> tensor<4x1xbf16>
// ONEFLOW: dlc.mul {{.*}} -> tensor<4x4xbf16>
// ONEFLOW: dlc.add {{.*}} -> tensor<4x4xbf16>
// ONEFLOW: dlc.log {{.*}} -> tensor<4x4xbf16>

// The user's lists win over the preset's.
// ASKED: dlc.softmax {{.*}} -> tensor<4x4xbf16>
// ASKED: dlc.relu {{.*}} -> tensor<4x4xf32>
func.func @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %half = dlc.constant dense<0.5> : tensor<f32>
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.softmax %0 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dlc.matmul %1, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = dlc.reduce_mean %2 {axes = array<i64: 1>, keepdims} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %4 = dlc.mul %2, %3 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %5 = dlc.matmul %4, %4 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = dlc.relu %5 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = dlc.mul %6, %half : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %8 = dlc.add %7, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = dlc.log %8 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %9 : tensor<4x4xf32>
}
