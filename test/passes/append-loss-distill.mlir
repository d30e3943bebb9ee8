// The step calls the teacher with the model's input; the losses between both are added, and are results.
// RUN: %dlc-opt %s --dlc-append-loss="loss=cross_entropy distill=kl(temperature=2,weight=.5) distill=mse(student=hidden,teacher=inner)" | FileCheck %s
// RUN: %dlc-opt %s --dlc-append-loss="loss=cross_entropy distill=kl last-batch=pad" | FileCheck %s --check-prefix=PAD
// RUN: not %dlc-opt %s --dlc-append-loss="loss=cross_entropy distill=mse(teacher=inner)" 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not %dlc-opt %s --dlc-append-loss="loss=cross_entropy distill=mse(teacher=outer)" 2>&1 | FileCheck %s --check-prefix=NAME

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: [[X:%.*]]: tensor<4x6xf32> {dlc.name = "x"}
// CHECK-SAME: tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "loss.distill", dlc.weight = 5.000000e-01 : f64}, tensor<f32> {dlc.name = "loss.distill2"}
// CHECK: [[HIDDEN:%.*]] = dlc.tanh
// CHECK: [[OWN:%.*]] = dlc.reduce_mean
// CHECK: [[T:%.*]]:2 = call @teacher([[X]])
// CHECK: dlc.constant dense<2.000000e+00>
// CHECK: [[P:%.*]] = dlc.log_softmax {{.*}} {axis = 1 : i64, dlc.loss}
// CHECK: [[SOFT:%.*]] = dlc.div [[T]]#0,
// CHECK: [[Q:%.*]] = dlc.log_softmax [[SOFT]]
// CHECK-DAG: [[D:%.*]] = dlc.sub [[Q]], [[P]]
// CHECK-DAG: [[E:%.*]] = dlc.exp [[Q]]
// CHECK: dlc.mul [[E]], [[D]]
// CHECK: dlc.constant dense<4.000000e+00>
// CHECK: [[KL:%.*]] = dlc.reduce_mean {{.*}} -> tensor<f32>
// CHECK: dlc.sub [[HIDDEN]], [[T]]#1
// CHECK: [[MSE:%.*]] = dlc.reduce_mean {{.*}} -> tensor<f32>
// CHECK: dlc.constant dense<5.000000e-01>
// CHECK: [[PART:%.*]] = dlc.mul [[KL]],
// CHECK: [[SUM:%.*]] = dlc.add [[OWN]], [[PART]]
// CHECK: [[TOTAL:%.*]] = dlc.add [[SUM]], [[MSE]]
// CHECK: return [[TOTAL]], [[KL]], [[MSE]]
// CHECK-LABEL: func.func @eval_step
// CHECK-NOT: @teacher

// Samples that fill up a batch do not count.
// PAD: func.func @train_step({{.*}} [[W:%.*]]: tensor<4xf32> {dlc.name = "dlc.sample_weight"})
// PAD: call @teacher
// PAD: [[EACH:%.*]] = dlc.reduce_mean {{.*}} -> tensor<4xf32>
// PAD: dlc.reshape [[W]]
// PAD: dlc.mul [[EACH]],

// SHAPE: --distill: output 'logits' of the model is 'tensor<4x3xf32>', output 'inner' of the teacher 'tensor<4x6xf32>'; a loss needs two of one shape
// NAME: --distill: teacher=outer is no output, there are logits, inner
func.func @predict(%x: tensor<4x6xf32> {dlc.name = "x"}) -> (tensor<4x3xf32> {dlc.name = "logits"}, tensor<4x6xf32> {dlc.name = "hidden"}) {
  %w = dlc.read @w : tensor<6x3xf32>
  %h = dlc.tanh %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = dlc.matmul %h, %w : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  return %y, %h : tensor<4x3xf32>, tensor<4x6xf32>
}
func.func @teacher(%x: tensor<4x6xf32> {dlc.name = "images"}) -> (tensor<4x3xf32> {dlc.name = "logits"}, tensor<4x6xf32> {dlc.name = "inner"}) {
  %w = dlc.read @"teacher/w" : tensor<6x3xf32>
  %h = dlc.relu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = dlc.matmul %h, %w : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  return %y, %h : tensor<4x3xf32>, tensor<4x6xf32>
}
dlc.state @w : tensor<6x3xf32> param init = "w" trainable
dlc.state @"teacher/w" : tensor<6x3xf32> const init = "teacher/w"
