// RUN: %dlc-opt %s --split-input-file --dlc-append-loss=last-batch=pad 2>/dev/null | FileCheck %s
// RUN: %dlc-opt %s --split-input-file "--dlc-append-loss=last-batch=pad ignore-index=-1" 2>/dev/null | FileCheck %s --check-prefix=IGNORE

// Training takes a weight for each sample, of all of its rows; evaluation, which fills up nothing that counts, does not.
// CHECK: @train_step({{.*}}"in"}, {{.*}}"y"}, [[W:%.*]]: tensor<4xf32> {dlc.name = "dlc.sample_weight"})
// CHECK: [[ROWS:%.*]], {{.*}} = dlc.softmax_cross_entropy
// CHECK: [[C:%.*]] = dlc.reshape [[W]] {{.*}} -> tensor<4x1xf32>
// CHECK: [[B:%.*]] = dlc.broadcast [[C]] {{.*}} -> tensor<4x3xf32>
// CHECK: [[EACH:%.*]] = dlc.reshape [[B]] {{.*}} -> tensor<12xf32>
// CHECK: [[M:%.*]] = dlc.mul [[ROWS]], [[EACH]]
// CHECK: dlc.reduce_mean [[M]] {axes = array<i64: 0>
// CHECK: @eval_step({{[^,]*}}"in"}, {{[^,]*}}"y"}) ->

// Rows that have weights of their own: those of samples that are there.
// IGNORE: @train_step({{.*}}[[W:%.*]]: tensor<4xf32> {dlc.name = "dlc.sample_weight"})
// IGNORE: [[EACH:%.*]] = dlc.reshape {{.*}} -> tensor<12xf32>
// IGNORE: [[THERE:%.*]] = dlc.compare gt [[EACH]]
// IGNORE: [[COUNTS:%.*]] = dlc.cast [[THERE]]
// IGNORE: [[ROWS:%.*]] = dlc.mul {{%.*}}, [[COUNTS]]
// IGNORE: [[WEIGHTS:%.*]] = dlc.mul {{%.*}}, [[COUNTS]]
// IGNORE: [[SUM:%.*]] = dlc.reduce_sum [[ROWS]]
// IGNORE: [[ALL:%.*]] = dlc.reduce_sum [[WEIGHTS]]
// IGNORE: [[BY:%.*]] = dlc.select {{%.*}}, {{%.*}}, [[ALL]]
// IGNORE: dlc.div [[SUM]], [[BY]]
func.func @predict(%x: tensor<4x3x10xf32> {dlc.name = "in"}) -> (tensor<4x3x10xf32> {dlc.name = "logits"}) {
  %0 = dlc.relu %x : (tensor<4x3x10xf32>) -> tensor<4x3x10xf32>
  return %0 : tensor<4x3x10xf32>
}
