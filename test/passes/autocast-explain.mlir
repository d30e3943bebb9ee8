// The report: a line an op of @train_step, in its order, and a summary; the driver prints it.
// RUN: %dlc-opt %s --dlc-autocast=explain-amp | FileCheck %s
// RUN: %dlc-opt %s --dlc-autocast="explain-amp amp-dtype=fp16 amp-node=act:f32" | FileCheck %s --check-prefix=FP16
// RUN: %dlc-opt %s --dlc-autocast="explain-amp amp-preset=torch" | FileCheck %s --check-prefix=TORCH
// RUN: %dlc-opt %s --dlc-autocast="explain-amp amp=O2" | FileCheck %s --check-prefix=O2

// CHECK: module attributes {dlc.casts = [
// CHECK-SAME: "fc1 {{ *}}matmul  {{ *}}bf16  2 casts   allow list",
// CHECK-SAME: "mask {{ *}}select {{ *}}bf16  0 casts   clear list, between fc1 and fc2",
// CHECK-SAME: "act {{ *}}tanh {{ *}}bf16  0 casts   infer list, between fc1 and fc2",
// CHECK-SAME: "fc2 {{ *}}matmul {{ *}}bf16  0 casts   allow list",
// CHECK-SAME: "flat {{ *}}reshape {{ *}}bf16  0 casts   clear list, follows fc2",
// CHECK-SAME: "log {{ *}}log {{ *}}f32   1 cast    deny list",
// CHECK-SAME: "neg {{ *}}neg {{ *}}f32   0 casts   clear list, denied: on the way from log",
// CHECK-SAME: "loss {{ *}}reduce_mean {{ *}}f32   0 casts   loss",
// CHECK-SAME: "@train_step: 5 of 9 ops in bf16, 3 casts, 1 of them of states, 1 constant rounded"]}

// FP16: "mask {{ *}}select {{ *}}fp16  0 casts   clear list, follows fc1; -1.0E+9 becomes -65504",
// FP16-SAME: "act {{ *}}tanh {{ *}}f32   1 cast    --amp-node=act:f32",
// FP16-SAME: "add

// TORCH: "act {{ *}}tanh {{ *}}bf16  0 casts   infer list, follows its inputs",
// TORCH: "log {{ *}}log {{ *}}f32   1 cast    deny list",

// O2: "act {{ *}}tanh {{ *}}bf16  0 casts   O2",
dlc.state @w : tensor<4x4xf32> param init = "w" trainable
func.func @train_step(%x: tensor<4x4xf32>, %keep: tensor<4x4xi1>) -> (tensor<f32> {dlc.name = "loss"}) {
  %large = dlc.constant dense<-1.0e9> : tensor<f32>
  %w = dlc.read @w : tensor<4x4xf32>
  %0 = dlc.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("fc1")
  %1 = dlc.select %keep, %0, %large : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32> loc("mask")
  %2 = dlc.tanh %1 : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("act")
  %3 = dlc.matmul %2, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("fc2")
  %4 = dlc.reshape %3 : (tensor<4x4xf32>) -> tensor<16xf32> loc("flat")
  %5 = dlc.log %4 : (tensor<16xf32>) -> tensor<16xf32> loc("log")
  %6 = dlc.neg %5 : (tensor<16xf32>) -> tensor<16xf32> loc("neg")
  %7 = dlc.add %6, %6 : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> loc("add")
  %8 = dlc.reduce_mean %7 {axes = array<i64: 0>, dlc.loss} : (tensor<16xf32>) -> tensor<f32>
  return %8 : tensor<f32>
}
