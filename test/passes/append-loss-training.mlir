// Training divides rows that have weights by those of all ranks and micro-batches.
// RUN: %dlc-opt %s --dlc-append-loss=ignore-index=-1 | FileCheck %s
// RUN: %dlc-opt %s --dlc-append-loss=ddp=2 | FileCheck %s --check-prefix=ALIKE
// RUN: %dlc-opt %s "--dlc-append-loss=ignore-index=-1 ddp=2" | FileCheck %s --check-prefix=RANKS
// RUN: %dlc-opt %s "--dlc-append-loss=ignore-index=-1 ddp=2 loss=logits:cross_entropy,logits:cross_entropy:as=b" | FileCheck %s --check-prefix=TERMS
// RUN: %dlc-opt %s "--dlc-append-loss=ignore-index=-1 accumulate=3" | FileCheck %s --check-prefix=MICRO
// RUN: not %dlc-opt %s "--dlc-append-loss=ignore-index=-1 accumulate=3 loss=logits:cross_entropy,logits:cross_entropy:as=b" 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not %dlc-opt %s "--dlc-append-loss=ignore-index=-1 accumulate=3 loss=logits:cross_entropy,logits:mse:as=b" 2>&1 | FileCheck %s --check-prefix=TWO

// Of nothing the mean is 0.
// CHECK-LABEL: @train_step
// CHECK-NOT: dlc.all_reduce
// CHECK: [[SUM:%.*]] = dlc.reduce_sum {{%.*}} {axes = array<i64: 0>
// CHECK: [[ALL:%.*]] = dlc.reduce_sum {{%.*}} {axes = array<i64: 0>
// CHECK: [[NONE:%.*]] = dlc.compare eq [[ALL]]
// CHECK: [[BY:%.*]] = dlc.select [[NONE]], {{%.*}}, [[ALL]]
// CHECK: [[LOSS:%.*]] = dlc.div [[SUM]], [[BY]]
// CHECK: return [[LOSS]]

// Rows that count alike: the mean of the ranks' means is theirs.
// ALIKE-LABEL: @train_step
// ALIKE-NOT: dlc.all_reduce

// The weights' sum travels before anything else is computed, with a 1 that counts the ranks.
// RANKS-LABEL: @train_step
// RANKS-NOT: dlc.relu
// RANKS: [[OWN:%.*]] = dlc.reduce_sum {{%.*}} {axes = array<i64: 0>
// RANKS: [[ONE:%.*]] = dlc.constant dense<1.000000e+00> : tensor<1xf64>
// RANKS: [[SENT:%.*]] = dlc.concat {{%.*}}, [[ONE]]
// RANKS: [[SUMS:%.*]] = dlc.all_reduce [[SENT]] op = sum{{.*}} : (tensor<2xf64>)
// RANKS: dlc.relu
// RANKS: [[FIRST:%.*]] = dlc.slice [[SUMS]] {{.*}}starts = array<i64: 0>
// RANKS: [[ALL:%.*]] = dlc.reshape [[FIRST]]
// RANKS: [[LAST:%.*]] = dlc.slice [[SUMS]] {{.*}}starts = array<i64: 1>
// RANKS: [[RANKS:%.*]] = dlc.reshape [[LAST]]
// RANKS: [[MEAN:%.*]] = dlc.div [[ALL]], [[RANKS]]
// RANKS: [[WIDE:%.*]] = dlc.select {{%.*}}, {{%.*}}, [[MEAN]]
// RANKS: [[BY:%.*]] = dlc.cast [[WIDE]] {{.*}} -> tensor<f32>
// RANKS: dlc.div {{%.*}}, [[BY]]

// Those of several losses travel together.
// TERMS-LABEL: @train_step
// TERMS: dlc.all_reduce {{%.*}} op = sum{{.*}} : (tensor<3xf64>)
// TERMS-NOT: dlc.all_reduce

// A micro-batch divides by its own, and says what all are divided by.
// MICRO-LABEL: @train_step
// MICRO-SAME: (tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "divisor.own"}, tensor<f32> {dlc.name = "divisor.whole"})
// MICRO: [[OWN:%.*]] = dlc.reduce_sum {{%.*}} {axes = array<i64: 0>
// MICRO: dlc.all_reduce {{%.*}} op = sum{{.*}} : (tensor<2xf64>)
// MICRO: [[WIDE:%.*]] = dlc.select
// MICRO: [[WHOLE:%.*]] = dlc.cast [[WIDE]] {{.*}} -> tensor<f32>
// MICRO: [[BY:%.*]] = dlc.select {{%.*}}, {{%.*}}, [[OWN]]
// MICRO: [[LOSS:%.*]] = dlc.div {{%.*}}, [[BY]]
// MICRO: return [[LOSS]], [[BY]], [[WHOLE]]

// TWO: error: --accumulate=3 divides what micro-batches add up once, by the weights of all their rows, but the losses 'logits', 'b' have different weights; compile without --accumulate

func.func @predict(%x: tensor<4x10xf32> {dlc.name = "x"}) -> (tensor<4x10xf32> {dlc.name = "logits"}) {
  %0 = dlc.relu %x : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}
