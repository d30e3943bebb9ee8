// RUN: %dlc-opt %s --split-input-file --dlc-insert-lora="lora=2 lora-alpha=2 lora-targets=conv" | FileCheck %s

// A convolution's window goes to A, B is a 1x1 convolution; a grouped one has no adapter.
// CHECK: dlc.state @conv.lora_A.weight : tensor<2x3x3x3xf32>
// CHECK: dlc.state @conv.lora_B.weight : tensor<6x2x1x1xf32>
// CHECK-NOT: @conv2.lora
// CHECK: dlc.conv {{.*}} pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x4x4xf32>
// CHECK: dlc.conv {{.*}} pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x4x4xf32>
// CHECK: dlc.conv {{.*}} pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>, tensor<6x2x1x1xf32>) -> tensor<1x6x4x4xf32>
dlc.state @conv.weight : tensor<6x3x3x3xf32> param init = "conv.weight" trainable
dlc.state @conv2.weight : tensor<6x3x1x1xf32> param init = "conv2.weight" trainable
func.func @predict(%x: tensor<1x3x8x8xf32>) -> tensor<1x6x4x4xf32> {
  %w = dlc.read @conv.weight : tensor<6x3x3x3xf32>
  %g = dlc.read @conv2.weight : tensor<6x3x1x1xf32>
  %0 = dlc.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x4x4xf32>
  %1 = dlc.conv %0, %g {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x3x1x1xf32>) -> tensor<1x6x4x4xf32>
  return %1 : tensor<1x6x4x4xf32>
}

// -----

// Of a volume's convolution, too.
// CHECK: dlc.conv {{.*}} pads = array<i64: 0, 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<1x2x2x4x4xf32>, tensor<6x2x1x1x1xf32>) -> tensor<1x6x2x4x4xf32>
dlc.state @conv3.weight : tensor<6x3x3x3x3xf32> param init = "conv3.weight" trainable
func.func @predict(%x: tensor<1x3x4x8x8xf32>) -> tensor<1x6x2x4x4xf32> {
  %w = dlc.read @conv3.weight : tensor<6x3x3x3x3xf32>
  %0 = dlc.conv %x, %w {strides = array<i64: 2, 2, 2>, pads = array<i64: 1, 1, 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1>} : (tensor<1x3x4x8x8xf32>, tensor<6x3x3x3x3xf32>) -> tensor<1x6x2x4x4xf32>
  return %0 : tensor<1x6x2x4x4xf32>
}
