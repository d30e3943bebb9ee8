// A loss that the graph computes is used as it is; its labels get the name that data files use.
// RUN: %dlc-opt %s --dlc-append-loss | FileCheck %s

// CHECK: @train_step({{.*}} {dlc.name = "images"}, {{.*}}: tensor<4xi64> {dlc.name = "y"}) -> (tensor<f32> {dlc.name = "loss"})
// CHECK: [[ROWS:%.*]], {{.*}} = dlc.softmax_cross_entropy
// CHECK: [[LOSS:%.*]] = dlc.reduce_sum [[ROWS]]
// CHECK: return [[LOSS]]
// CHECK: @eval_step({{.*}}) -> (tensor<4xf32> {dlc.name = "row_loss"}, tensor<4xf32> {dlc.name = "row_correct"})
// CHECK-NOT: dlc.reduce_sum
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "images"}, %y: tensor<4xi64> {dlc.name = "target"})
    -> (tensor<4x10xf32> {dlc.name = "logits"}, tensor<f32> {dlc.loss, dlc.name = "total"}) {
  %labels = dlc.reshape %y : (tensor<4xi64>) -> tensor<4xi64>
  %rows, %lse = dlc.softmax_cross_entropy %x, %labels : (tensor<4x10xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  %loss = dlc.reduce_sum %rows {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %x, %loss : tensor<4x10xf32>, tensor<f32>
}
