// The learning rate in the graph, as insert-optimizer builds it.
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=cosine warmup=8 steps=40 min-lr=0.02" --dlc-canonicalize | FileCheck %s --check-prefix=COSINE
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=step decay-steps=30 decay-rate=0.5" --dlc-canonicalize | FileCheck %s --check-prefix=STEP
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=multistep milestones=3,9 decay-rate=0.5" --dlc-canonicalize | FileCheck %s --check-prefix=MULTI
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=cosine cycle-steps=4 cycle-mult=2" --dlc-canonicalize | FileCheck %s --check-prefix=CYCLES
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=polynomial power=0.9 schedule-per=epoch" --dlc-canonicalize | FileCheck %s --check-prefix=EPOCH
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=onecycle" --dlc-canonicalize | FileCheck %s --check-prefix=ONE
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=onecycle cycle-momentum=false" --dlc-canonicalize | FileCheck %s --check-prefix=STILL
// RUN: %dlc-opt %s --dlc-insert-optimizer="lr=0.1 schedule=plateau plateau-factor=0.25 min-lr=0.02" --dlc-canonicalize | FileCheck %s --check-prefix=PLATEAU
// RUN: not %dlc-opt %s --dlc-insert-optimizer=schedule=cosin 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %dlc-opt %s --dlc-insert-optimizer="schedule=multistep milestones=9,3" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not %dlc-opt %s --dlc-insert-optimizer="schedule=onecycle pct-start=1" 2>&1 | FileCheck %s --check-prefix=SHARE_UP
// RUN: not %dlc-opt %s --dlc-insert-optimizer="schedule=cosine warmup=8 steps=8" 2>&1 | FileCheck %s --check-prefix=LONG

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

// 0.1 while t < 3, 0.05 while t < 9, then 0.025; nothing depends on the training's length.
// MULTI-NOT: schedule.steps
// MULTI-DAG: [[THREE:%.*]] = dlc.constant dense<3.000000e+00> : tensor<f64>
// MULTI-DAG: [[NINE:%.*]] = dlc.constant dense<9.000000e+00> : tensor<f64>
// MULTI-DAG: [[FIRST:%.*]] = dlc.constant dense<1.000000e-01> : tensor<f64>
// MULTI-DAG: [[SECOND:%.*]] = dlc.constant dense<5.000000e-02> : tensor<f64>
// MULTI-DAG: [[THIRD:%.*]] = dlc.constant dense<2.500000e-02> : tensor<f64>
// MULTI: [[EARLY:%.*]] = dlc.compare lt [[T:%.*]], [[THREE]]
// MULTI: [[A:%.*]] = dlc.select [[EARLY]], [[FIRST]], [[SECOND]]
// MULTI: [[MIDDLE:%.*]] = dlc.compare lt [[T]], [[NINE]]
// MULTI: dlc.select [[MIDDLE]], [[A]], [[THIRD]]

// Cycle floor(log2((t + 0.5) / 4 + 1)), of 4 2^cycle updates; nothing depends on the training's length.
// CYCLES-NOT: schedule.steps
// CYCLES: [[LOG:%.*]] = dlc.log
// CYCLES: [[BY:%.*]] = dlc.div [[LOG]],
// CYCLES: [[FLOOR:%.*]] = dlc.floor [[BY]]
// CYCLES: [[CYCLE:%.*]] = dlc.max [[FLOOR]],
// CYCLES: [[POW:%.*]] = dlc.pow {{.*}}, [[CYCLE]]
// CYCLES: dlc.round [[POW]]
// CYCLES: dlc.cos

// t = floor(updates / those of an epoch), T = ceil(total / those of an epoch).
// EPOCH-DAG: dlc.state @schedule.epoch_steps : tensor<i64> step init = 0 : i64
// EPOCH-DAG: dlc.state @schedule.steps : tensor<i64> step init = 0 : i64
// EPOCH: dlc.read @schedule.epoch_steps
// EPOCH: [[LENGTH:%.*]] = dlc.max
// EPOCH: [[PART:%.*]] = dlc.div {{.*}}, [[LENGTH]]
// EPOCH: [[T:%.*]] = dlc.floor [[PART]]
// EPOCH: dlc.read @schedule.steps
// EPOCH: [[ALL:%.*]] = dlc.div {{.*}}, [[LENGTH]]
// EPOCH: dlc.ceil [[ALL]]
// EPOCH: dlc.min [[T]],
// EPOCH: dlc.pow

// The rate and the momentum go up and down with the same shares of the way.
// ONE: [[RISING:%.*]] = dlc.compare le
// ONE: [[LR:%.*]] = dlc.select [[RISING]],
// ONE: [[MOMENTUM:%.*]] = dlc.select [[RISING]],
// ONE: dlc.cast [[MOMENTUM]]
// ONE-NOT: dlc.compare
// STILL: dlc.compare le
// STILL: dlc.select
// STILL-NOT: dlc.select

// What is kept of validations is a state, of which the program reads how often the rate was reduced.
// PLATEAU: dlc.state @plateau : tensor<4xf64> step init = 0.000000e+00 : f64
// PLATEAU-DAG: [[BASE:%.*]] = dlc.constant dense<1.000000e-01> : tensor<f64>
// PLATEAU-DAG: [[FACTOR:%.*]] = dlc.constant dense<2.500000e-01> : tensor<f64>
// PLATEAU-DAG: [[LEAST:%.*]] = dlc.constant dense<2.000000e-02> : tensor<f64>
// PLATEAU: [[STATE:%.*]] = dlc.read @plateau
// PLATEAU: [[FIRST:%.*]] = dlc.slice [[STATE]] {sizes = array<i64: 1>, starts = array<i64: 0>
// PLATEAU: [[TIMES:%.*]] = dlc.reshape [[FIRST]] : (tensor<1xf64>) -> tensor<f64>
// PLATEAU: [[POWER:%.*]] = dlc.pow [[FACTOR]], [[TIMES]]
// PLATEAU: [[RATE:%.*]] = dlc.mul [[POWER]], [[BASE]]
// PLATEAU: dlc.max [[RATE]], [[LEAST]]
// PLATEAU-NOT: dlc.write @plateau

// UNKNOWN: schedule: 'cosin' is not one of constant, step, multistep, linear, cosine, polynomial, onecycle
// ORDER: milestones: expected rising numbers, found 9,3
// SHARE_UP: pct-start: expected a number above 0, of at most 0.999, found '1'
// LONG: --warmup=8 leaves no step of --steps=8
dlc.state @w : tensor<2xf32> param init = "w" trainable
func.func @train_step(%loss: tensor<f32>, %g: tensor<2xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @w, %g : tensor<2xf32>
  return %loss : tensor<f32>
}
