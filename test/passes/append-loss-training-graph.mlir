// Quotients of a loss that the graph computes: what a graph does to a sum of weights it does to that of all ranks.
// RUN: %dlc-opt %s --split-input-file "--dlc-append-loss=loss=total:graph ddp=2" 2>/dev/null | FileCheck %s
// RUN: not %dlc-opt %s --split-input-file "--dlc-append-loss=loss=total:graph accumulate=2" 2>&1 | FileCheck %s --check-prefix=MICRO

dlc.state @w : tensor<10xf32> param init = 0.0 : f32 trainable
// Its sum is bounded, then divided by the ranks; its mean is a mean first. Both travel at once, before what needs a parameter.
// CHECK-LABEL: @train_step
// CHECK-NOT: dlc.read
// CHECK: [[SUM:%.*]] = dlc.reduce_sum
// CHECK: [[PART:%.*]] = dlc.reduce_mean
// CHECK: [[SUMS:%.*]] = dlc.all_reduce {{%.*}} op = sum{{.*}} : (tensor<3xf64>)
// CHECK: dlc.read @w
// CHECK: [[A:%.*]] = dlc.slice [[SUMS]] {{.*}}starts = array<i64: 0>
// CHECK: [[ALL:%.*]] = dlc.reshape [[A]]
// CHECK: [[R:%.*]] = dlc.slice [[SUMS]] {{.*}}starts = array<i64: 2>
// CHECK: [[RANKS:%.*]] = dlc.reshape [[R]]
// CHECK: [[TWICE:%.*]] = dlc.mul [[ALL]]
// CHECK: [[MOST:%.*]] = dlc.max [[TWICE]]
// CHECK: dlc.div [[MOST]], [[RANKS]]
// CHECK: [[FIRST:%.*]] = dlc.div
// CHECK: [[B:%.*]] = dlc.slice [[SUMS]] {{.*}}starts = array<i64: 1>
// CHECK: [[PARTS:%.*]] = dlc.reshape [[B]]
// CHECK: [[MEAN:%.*]] = dlc.div [[PARTS]]
// CHECK: [[MORE:%.*]] = dlc.add [[MEAN]]
// CHECK: [[SECOND:%.*]] = dlc.div
// CHECK: [[BOTH:%.*]] = dlc.add [[FIRST]], [[SECOND]]
// CHECK: return [[BOTH]]
// MICRO: error: --accumulate=2 divides what micro-batches add up once, by the weights of all their rows, but the means that the graph's loss adds up have different weights
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "x"}, %m: tensor<4xf32> {dlc.name = "m"}) -> (tensor<f32> {dlc.name = "total"}) {
  %two = dlc.constant dense<2.000000e+00> : tensor<f32>
  %one = dlc.constant dense<1.000000e+00> : tensor<f32>
  %small = dlc.constant dense<9.99999997E-7> : tensor<f32>
  %w = dlc.read @w : tensor<10xf32>
  %y = dlc.mul %x, %w : (tensor<4x10xf32>, tensor<10xf32>) -> tensor<4x10xf32>
  %l = dlc.reduce_sum %y {axes = array<i64: 1>} : (tensor<4x10xf32>) -> tensor<4xf32>
  %lm = dlc.mul %l, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %above = dlc.reduce_sum %lm {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %sum = dlc.reduce_sum %m {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %twice = dlc.mul %sum, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %most = dlc.max %twice, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %first = dlc.div %above, %most : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %abovemean = dlc.reduce_mean %lm {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %mean = dlc.reduce_mean %m {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  %below = dlc.add %mean, %small : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %second = dlc.div %abovemean, %below : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %total = dlc.add %first, %second : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %total : tensor<f32>
}
