// RUN: %dlc-opt %s --dlc-measure-gradients=stats | FileCheck %s --check-prefix=GRADIENTS
// RUN: %dlc-opt %s --dlc-measure-parameters=stats | FileCheck %s --check-prefix=PARAMETERS
// RUN: %dlc-opt %s --dlc-measure-gradients --dlc-measure-parameters | FileCheck %s --check-prefix=OFF

// Rows are in the order of the states, @a first, whatever that of the gradients is; four numbers each, and frozen states have none.
// GRADIENTS: @train_step({{.*}}, [[DA:%.*]]: tensor<2x3xf32>, [[DB:%.*]]: tensor<3xbf16>) -> ({{.*}}, tensor<8xf32> {dlc.name = "stats.gradients"})
// GRADIENTS: [[MEAN:%.*]] = dlc.reduce_mean [[DA]] {axes = array<i64: 0, 1>
// GRADIENTS: [[APART:%.*]] = dlc.sub [[DA]], [[MEAN]]
// GRADIENTS: [[SQUARES:%.*]] = dlc.mul [[DA]], [[DA]]
// GRADIENTS: dlc.reduce_sum [[SQUARES]]
// GRADIENTS: [[APARTS:%.*]] = dlc.mul [[APART]], [[APART]]
// GRADIENTS: dlc.reduce_mean [[APARTS]]
// GRADIENTS: dlc.abs [[DA]]
// GRADIENTS: dlc.reduce_max
// GRADIENTS: [[WIDE:%.*]] = dlc.cast [[DB]]
// GRADIENTS: dlc.reduce_mean [[WIDE]]
// GRADIENTS: [[ALL:%.*]] = dlc.concat {{.*}} -> tensor<8xf32>
// GRADIENTS: return {{.*}}, [[ALL]]

// PARAMETERS: -> ({{.*}}, tensor<10xf32> {dlc.name = "stats.parameters"})
// PARAMETERS: dlc.write @a, [[NEW:%.*]] : tensor<2x3xf32>
// PARAMETERS: [[OLD:%.*]] = dlc.read @a
// PARAMETERS: dlc.reduce_mean [[NEW]]
// PARAMETERS: [[MOVED:%.*]] = dlc.sub [[NEW]], [[OLD]]
// PARAMETERS: [[SQUARES:%.*]] = dlc.mul [[MOVED]], [[MOVED]]
// PARAMETERS: dlc.reduce_sum [[SQUARES]]

// OFF-NOT: stats
dlc.state @a : tensor<2x3xf32> param init = "a" trainable
dlc.state @frozen : tensor<3xf32> param init = "frozen"
dlc.state @b : tensor<3xbf16> param init = "b" trainable
func.func @train_step(%loss: tensor<f32>, %da: tensor<2x3xf32>, %db: tensor<3xbf16>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @b, %db : tensor<3xbf16>
  dlc.gradient @a, %da : tensor<2x3xf32>
  dlc.write @a, %da : tensor<2x3xf32>
  dlc.write @b, %db : tensor<3xbf16>
  return %loss : tensor<f32>
}
