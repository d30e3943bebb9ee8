// Rows that have weights: evaluation returns numerators and denominators, to be added up over all samples.
// RUN: %dlc-opt %s --dlc-append-loss=ignore-index=-1 | FileCheck %s
// RUN: %dlc-opt %s "--dlc-append-loss=ignore-index=-1 loss=logits:cross_entropy,logits:cross_entropy:as=b" | FileCheck %s --check-prefix=TERMS

// CHECK-LABEL: @eval_step
// CHECK-SAME: (tensor<4xf32> {dlc.name = "row_loss"}, tensor<4xf32> {dlc.name = "row_weight"}, tensor<4xf32> {dlc.name = "row_correct"}, tensor<4xf32> {dlc.name = "row_counted"})

// TERMS-LABEL: @eval_step
// TERMS-SAME: "row_loss.logits"}, tensor<4xf32> {dlc.name = "row_weight.logits"}, tensor<4xf32> {dlc.name = "row_loss.b"}, tensor<4xf32> {dlc.name = "row_weight.b"}

func.func @predict(%x: tensor<4x10xf32> {dlc.name = "x"}) -> (tensor<4x10xf32> {dlc.name = "logits"}) {
  %0 = dlc.relu %x : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}
