// Which products --amp-dtype=fp8 computes in 8-bit floats, and why not others.
// RUN: %dlc-opt %s --dlc-autocast="explain-amp amp-dtype=fp8 amp-node=^head$:half" | FileCheck %s

// CHECK: module attributes {dlc.casts = [
// CHECK-SAME: "fc1 {{ *}}matmul  {{ *}}fp8   2 casts   allow list",
// CHECK-SAME: "odd {{ *}}matmul  {{ *}}bf16  1 cast    allow list; no FP8: 20 outputs are no multiple of 16",
// CHECK-SAME: "deep {{ *}}matmul  {{ *}}bf16  1 cast    allow list; no FP8: 20 inputs are no multiple of 16",
// CHECK-SAME: "few {{ *}}matmul  {{ *}}bf16  0 casts   allow list; no FP8: 8 rows are no multiple of 16",
// CHECK-SAME: "scores {{ *}}matmul  {{ *}}bf16  0 casts   allow list; no FP8: its second operand is no weight of two dimensions",
// CHECK-SAME: "head {{ *}}matmul  {{ *}}bf16  0 casts   --amp-node=^head$:half",
// CHECK-SAME: "@train_step: {{.*}} ops in bf16, 1 of them in fp8,
dlc.state @w : tensor<16x16xf32> param init = "w" trainable
dlc.state @v : tensor<20x16xf32> param init = "v" trainable
dlc.state @u : tensor<16x20xf32> param init = "u" trainable
func.func @train_step(%x: tensor<16x16xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  %w = dlc.read @w : tensor<16x16xf32>
  %v = dlc.read @v : tensor<20x16xf32>
  %u = dlc.read @u : tensor<16x20xf32>
  %0 = dlc.matmul %x, %w {trans_b} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("fc1")
  %1 = dlc.matmul %0, %v {trans_b} : (tensor<16x16xf32>, tensor<20x16xf32>) -> tensor<16x20xf32> loc("odd")
  %2 = dlc.matmul %1, %u {trans_b} : (tensor<16x20xf32>, tensor<16x20xf32>) -> tensor<16x16xf32> loc("deep")
  %half = dlc.slice %2 {sizes = array<i64: 8, 16>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<16x16xf32>) -> tensor<8x16xf32> loc("half")
  %3 = dlc.matmul %half, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("few")
  %4 = dlc.matmul %2, %2 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("scores")
  %5 = dlc.matmul %4, %w {trans_b} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> loc("head")
  %6 = dlc.reduce_mean %5 {axes = array<i64: 0, 1>, dlc.loss} : (tensor<16x16xf32>) -> tensor<f32>
  %7 = dlc.reduce_mean %3 {axes = array<i64: 0, 1>, dlc.loss} : (tensor<8x16xf32>) -> tensor<f32>
  %8 = dlc.add %6, %7 {dlc.loss} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %8 : tensor<f32>
}
