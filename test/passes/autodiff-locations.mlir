// RUN: %dlc-opt %s --dlc-autodiff --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// The gradient of an op carries the op's ONNX node name.
dlc.state @w : tensor<4x3xf32> param init = "w" trainable
func.func @train_step(%x: tensor<2x4xf32>) -> tensor<f32> {
  %w = dlc.read @w : tensor<4x3xf32>
  %y = dlc.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32> loc("fc1")
  %loss = dlc.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32> loc("loss")
  return %loss : tensor<f32>
}
// CHECK: dlc.seed : tensor<f32> loc("loss")
// CHECK: dlc.broadcast {{.*}} loc(fused<"gradient">["loss"])
// CHECK: dlc.matmul {{.*}} {trans_a} {{.*}} loc(fused<"gradient">["fc1"])
// CHECK: dlc.gradient @w, {{.*}} loc(fused<"gradient">["fc1"])
