// The learning rate in the graph, as insert-optimizer builds it.
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=cosine warmup=8 total-steps=40 min-lr=0.02" --dlc-canonicalize | FileCheck %s --check-prefix=COSINE
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=step decay-steps=30 decay-rate=0.5" --dlc-canonicalize | FileCheck %s --check-prefix=STEP
// RUN: not %dlc-opt %s --dlc-insert-optimizer=schedule=cosin 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %dlc-opt %s --dlc-insert-optimizer="schedule=cosine warmup=8 total-steps=8" 2>&1 | FileCheck %s --check-prefix=LONG

// lr (t + 1) / 8 while t < 8, then 0.04 (cos(pi min(t - 8, T) / T) + 1) + 0.02 with T = max(total - 8, 1).
// COSINE: dlc.state @schedule.steps : tensor<i64> step init = 40 : i64
// COSINE: [[DONE:%.*]] = dlc.read @step
// COSINE: [[T:%.*]] = dlc.cast [[DONE]]
// COSINE: [[LATER:%.*]] = dlc.sub [[T]],
// COSINE: [[TOTAL:%.*]] = dlc.read @schedule.steps
// COSINE: [[WIDE:%.*]] = dlc.cast [[TOTAL]]
// COSINE: [[REST:%.*]] = dlc.sub [[WIDE]],
// COSINE: [[SPAN:%.*]] = dlc.max [[REST]],
// COSINE: [[INSIDE:%.*]] = dlc.min [[LATER]], [[SPAN]]
// COSINE: [[SHARE:%.*]] = dlc.div [[INSIDE]], [[SPAN]]
// COSINE: [[ANGLE:%.*]] = dlc.mul [[SHARE]],
// COSINE: [[COS:%.*]] = dlc.cos [[ANGLE]]
// COSINE: [[UP:%.*]] = dlc.add [[COS]],
// COSINE: [[SCALED:%.*]] = dlc.mul [[UP]],
// COSINE: [[RATE:%.*]] = dlc.add [[SCALED]],
// COSINE: [[WARMING:%.*]] = dlc.compare lt [[T]],
// COSINE: [[NEXT:%.*]] = dlc.add [[T]],
// COSINE: [[RISE:%.*]] = dlc.mul [[NEXT]],
// COSINE: [[LR:%.*]] = dlc.select [[WARMING]], [[RISE]], [[RATE]]

// STEP-DAG: [[RATE:%.*]] = dlc.constant dense<5.000000e-01> : tensor<f64>
// STEP-DAG: [[STEPS:%.*]] = dlc.constant dense<3.000000e+01> : tensor<f64>
// STEP: [[Q:%.*]] = dlc.div {{.*}}, [[STEPS]]
// STEP: [[K:%.*]] = dlc.floor [[Q]]
// STEP: [[P:%.*]] = dlc.pow [[RATE]], [[K]]
// STEP: dlc.mul [[P]],

// UNKNOWN: schedule 'cosin' is not known, expected constant, step or cosine
// LONG: a warm-up of 8 steps leaves none of the 8 of the training
dlc.state @w : tensor<2xf32> param init = "w" trainable
func.func @train_step(%loss: tensor<f32>, %g: tensor<2xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @w, %g : tensor<2xf32>
  return %loss : tensor<f32>
}
