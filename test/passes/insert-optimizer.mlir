// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer="lr=0.1 weight-decay=0.01" | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer=momentum=0 | FileCheck %s --check-prefix=PLAIN
// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer="name=adamw lr=0.001" | FileCheck %s --check-prefix=ADAM
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-optimizer=name=sgdm 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-optimizer="nesterov momentum=0" 2>&1 | FileCheck %s --check-prefix=NESTEROV

// SGD with momentum.
// CHECK: dlc.state @step : tensor<i64> step init = 0 : i64
// CHECK: dlc.state @w.m : tensor<2xf32> moment init = 0.000000e+00 : f32 of = @w
// CHECK: @train_step({{.*}}, [[G:%.*]]: tensor<2xf32>) -> ({{.*}}, tensor<f32> {dlc.name = "lr"})
// CHECK: [[STEP:%.*]] = dlc.read @step
// CHECK: [[RATE:%.*]] = dlc.constant dense<1.000000e-01> : tensor<f64>
// CHECK: [[W:%.*]] = dlc.read @w :
// CHECK: [[M:%.*]] = dlc.read @w.m
// CHECK: [[LR:%.*]] = dlc.cast [[RATE]] : (tensor<f64>) -> tensor<f32>
// CHECK: [[NW:%.*]], [[NM:%.*]] = dlc.sgd [[W]], [[G]], [[LR]], [[M]] {momentum = 9.000000e-01 : f64, weight_decay = 1.000000e-02 : f64}
// CHECK: dlc.write @w, [[NW]]
// CHECK: dlc.write @w.m, [[NM]]
// CHECK-NOT: dlc.gradient
// CHECK: [[NEXT:%.*]] = dlc.add [[STEP]],
// CHECK: dlc.write @step, [[NEXT]]
// CHECK: return {{.*}}, [[LR]]

// Without momentum there is no moment.
// PLAIN-NOT: moment
// PLAIN: dlc.sgd {{.*}} : (tensor<2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>

// AdamW: bias corrections in f64 from the step, then rounded.
// ADAM: dlc.state @w.m
// ADAM: dlc.state @w.v
// ADAM: [[T:%.*]] = dlc.cast {{.*}} : (tensor<i64>) -> tensor<f64>
// ADAM: [[N:%.*]] = dlc.add [[T]],
// ADAM: [[P1:%.*]] = dlc.pow {{.*}}, [[N]]
// ADAM: [[C1:%.*]] = dlc.sub {{.*}}, [[P1]]
// ADAM: [[SIZE:%.*]] = dlc.div {{.*}}, [[C1]]
// ADAM: [[P2:%.*]] = dlc.pow {{.*}}, [[N]]
// ADAM: [[C2:%.*]] = dlc.sub {{.*}}, [[P2]]
// ADAM: [[ROOT:%.*]] = dlc.sqrt [[C2]]
// ADAM-DAG: [[SIZE32:%.*]] = dlc.cast [[SIZE]] : (tensor<f64>) -> tensor<f32>
// ADAM-DAG: [[ROOT32:%.*]] = dlc.cast [[ROOT]] : (tensor<f64>) -> tensor<f32>
// ADAM: dlc.adamw {{.*}}, [[SIZE32]], [[ROOT32]] {beta1 = 9.000000e-01 : f64, beta2 = {{0.99[89].*}} : f64, epsilon = 1.000000e-08 : f64

// UNKNOWN: optimizer 'sgdm' is not known, expected sgd or adamw
// NESTEROV: nesterov needs a momentum above 0
dlc.state @w : tensor<2xf32> param init = "w" trainable
func.func @train_step(%loss: tensor<f32>, %g: tensor<2xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @w, %g : tensor<2xf32>
  return %loss : tensor<f32>
}

// -----

// With a flag, an overflow leaves parameter, moment and step as they are.
// CHECK: [[OK:%.*]] = dlc.all_finite
// CHECK: [[STEP:%.*]] = dlc.read @step
// CHECK: [[W:%.*]] = dlc.read @w :
// CHECK: [[M:%.*]] = dlc.read @w.m
// CHECK: [[NW:%.*]], [[NM:%.*]] = dlc.sgd
// CHECK: [[SW:%.*]] = dlc.select [[OK]], [[NW]], [[W]]
// CHECK: dlc.write @w, [[SW]]
// CHECK: [[SM:%.*]] = dlc.select [[OK]], [[NM]], [[M]]
// CHECK: dlc.write @w.m, [[SM]]
// CHECK: [[NEXT:%.*]] = dlc.add [[STEP]],
// CHECK: [[SN:%.*]] = dlc.select [[OK]], [[NEXT]], [[STEP]]
// CHECK: dlc.write @step, [[SN]]
dlc.state @w : tensor<2xf32> param init = "w" trainable
func.func @train_step(%loss: tensor<f32>, %g: tensor<2xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  %finite = dlc.all_finite %g : (tensor<2xf32>) -> tensor<i1>
  dlc.gradient @w, %g : tensor<2xf32>
  return %loss : tensor<f32>
}
