// RUN: %dlc-opt %s --split-input-file --dlc-autodiff --canonicalize --cse '--dlc-matmul-epilogues=matmul=library matmul-epilogues=all' | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-autodiff --canonicalize --cse --dlc-matmul-epilogues | FileCheck %s --check-prefix=AUTO

// A hidden layer with gelu, in halves: the forward product keeps gelu's operand, whose gradient is an op of its own. Bias
// gradients are the weight gradients'; the operand that is summed is the transposed one. Small as they are, auto leaves all products to generated kernels, which
// contain the casts of the weights and of their gradients.
dlc.state @w1 : tensor<64x32xf32> param init = "w1" trainable
dlc.state @b1 : tensor<64xf32> param init = "b1" trainable
dlc.state @w2 : tensor<16x64xf32> param init = "w2" trainable
dlc.state @b2 : tensor<16xf32> param init = "b2" trainable
// CHECK-LABEL: func @train_step
// CHECK: %[[Y:.*]], %[[X:.*]] = dlc.matmul_activation %arg0, %[[W1:.*]], %[[B1:.*]] {activation = "gelu_tanh", trans_b} : (tensor<4x8x32xbf16>, tensor<64x32xbf16>, tensor<64xbf16>) -> (tensor<4x8x64xbf16>, tensor<4x8x64xbf16>)
// CHECK-NOT: dlc.gelu
// CHECK: dlc.matmul %[[Y]], %[[W2:.*]], %{{.*}} {trans_b}
// CHECK: %[[DG:.*]] = dlc.matmul %[[DY:.*]], %[[W2]]
// CHECK: %[[DY2:.*]] = dlc.reshape %[[DY]] : (tensor<4x8x16xbf16>)
// CHECK: %{{.*}}, %[[DB2:.*]] = dlc.matmul_bias_backward %[[DY2]], %{{.*}} {of = "a", trans_a} : (tensor<32x16xbf16>, tensor<32x64xbf16>) -> (tensor<16x64xbf16>, tensor<16xbf16>)
// CHECK: dlc.cast %[[DB2]]
// CHECK: %[[DX:.*]] = dlc.gelu_backward %[[DG]], %[[X]]
// CHECK-NOT: dlc.reduce_sum
// CHECK: %[[ROWS:.*]] = dlc.reshape %[[DX]] : (tensor<4x8x64xbf16>)
// CHECK: %{{.*}}, %[[DB1:.*]] = dlc.matmul_bias_backward %[[ROWS]], %{{.*}} {of = "a", trans_a}
// CHECK: dlc.cast %[[DB1]]
// CHECK: return
// AUTO-LABEL: func @train_step
// AUTO-NOT: dlc.matmul_
// AUTO: return
func.func @train_step(%x: tensor<4x8x32xbf16>) -> tensor<f32> {
  %w1 = dlc.read @w1 : tensor<64x32xf32>
  %b1 = dlc.read @b1 : tensor<64xf32>
  %w2 = dlc.read @w2 : tensor<16x64xf32>
  %b2 = dlc.read @b2 : tensor<16xf32>
  %w1h = dlc.cast %w1 : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  %b1h = dlc.cast %b1 : (tensor<64xf32>) -> tensor<64xbf16>
  %w2h = dlc.cast %w2 : (tensor<16x64xf32>) -> tensor<16x64xbf16>
  %b2h = dlc.cast %b2 : (tensor<16xf32>) -> tensor<16xbf16>
  %h = dlc.matmul %x, %w1h, %b1h {trans_b} : (tensor<4x8x32xbf16>, tensor<64x32xbf16>, tensor<64xbf16>) -> tensor<4x8x64xbf16>
  %g = dlc.gelu %h {tanh} : (tensor<4x8x64xbf16>) -> tensor<4x8x64xbf16>
  %y = dlc.matmul %g, %w2h, %b2h {trans_b} : (tensor<4x8x64xbf16>, tensor<16x64xbf16>, tensor<16xbf16>) -> tensor<4x8x16xbf16>
  %z = dlc.cast %y : (tensor<4x8x16xbf16>) -> tensor<4x8x16xf32>
  %s = dlc.mul %z, %z : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %loss = dlc.reduce_mean %s {axes = array<i64: 0, 1, 2>} : (tensor<4x8x16xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// relu in f32, weights as [in, out]: the product's result is kept, whose gradient is an op of its own; the summed operands
// are the second ones. No kernel is generated for products of f32, so that auto does the same, without relu.
dlc.state @w1 : tensor<32x24xf32> param init = "w1" trainable
dlc.state @b1 : tensor<24xf32> param init = "b1" trainable
dlc.state @w2 : tensor<24x16xf32> param init = "w2" trainable
dlc.state @b2 : tensor<16xf32> param init = "b2" trainable
// CHECK-LABEL: func @train_step
// CHECK: %[[Y:.*]] = dlc.matmul %arg0, %{{.*}}, %{{.*}} by = library {activation = "relu"}
// CHECK: dlc.matmul_bias_backward %[[Y]], %{{.*}} {of = "b", trans_a}
// CHECK: %[[DX:.*]] = dlc.relu_backward %{{.*}}, %[[Y]]
// CHECK-NOT: dlc.reduce_sum
// CHECK: dlc.matmul_bias_backward %arg0, %[[DX]] {of = "b", trans_a}
// CHECK: return
// AUTO-LABEL: func @train_step
// AUTO-NOT: dlc.matmul_activation
// AUTO: dlc.relu
// AUTO-COUNT-2: dlc.matmul_bias_backward
// AUTO: return
func.func @train_step(%x: tensor<8x32xf32>) -> tensor<f32> {
  %w1 = dlc.read @w1 : tensor<32x24xf32>
  %b1 = dlc.read @b1 : tensor<24xf32>
  %w2 = dlc.read @w2 : tensor<24x16xf32>
  %b2 = dlc.read @b2 : tensor<16xf32>
  %h = dlc.matmul %x, %w1, %b1 : (tensor<8x32xf32>, tensor<32x24xf32>, tensor<24xf32>) -> tensor<8x24xf32>
  %r = dlc.relu %h : (tensor<8x24xf32>) -> tensor<8x24xf32>
  %y = dlc.matmul %r, %w2, %b2 : (tensor<8x24xf32>, tensor<24x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  %s = dlc.mul %y, %y : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %loss = dlc.reduce_mean %s {axes = array<i64: 0, 1>} : (tensor<8x16xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
