// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer="lr=0.1 momentum=0.9 weight-decay=0.01" | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer | FileCheck %s --check-prefix=PLAIN
// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer="optimizer=adamw lr=0.001" | FileCheck %s --check-prefix=ADAM
// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer="optimizer=adam amsgrad" | FileCheck %s --check-prefix=AMSGRAD
// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer=optimizer=rmsprop_tf | FileCheck %s --check-prefix=TF
// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer=optimizer=lion | FileCheck %s --check-prefix=LION
// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer=optimizer=nadam | FileCheck %s --check-prefix=NADAM
// RUN: %dlc-opt %s --split-input-file --dlc-insert-optimizer="optimizer=adamw moments=bf16" | FileCheck %s --check-prefix=HALF
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-optimizer=moments=fp16 2>&1 | FileCheck %s --check-prefix=MOMENTS
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-optimizer=optimizer=sgdm 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-optimizer="nesterov momentum=0" 2>&1 | FileCheck %s --check-prefix=NESTEROV

// SGD with momentum: g + decay w, momentum m + g, w - lr m.
// CHECK: dlc.state @step : tensor<i64> step init = 0 : i64
// CHECK: dlc.state @w.m : tensor<2xf32> moment init = 0.000000e+00 : f32 of = @w
// CHECK: @train_step({{.*}}, [[G:%.*]]: tensor<2xf32>) -> ({{.*}}, tensor<f32> {dlc.name = "lr"})
// CHECK: [[STEP:%.*]] = dlc.read @step
// CHECK: [[RATE:%.*]] = dlc.constant dense<1.000000e-01> : tensor<f64>
// CHECK: [[MOMENTUM:%.*]] = dlc.constant dense<9.000000e-01> : tensor<f64>
// CHECK: [[W:%.*]] = dlc.read @w :
// CHECK: [[M:%.*]] = dlc.read @w.m
// CHECK: [[LR:%.*]] = dlc.cast [[RATE]] : (tensor<f64>) -> tensor<f32>
// CHECK: [[FACTOR:%.*]] = dlc.cast [[MOMENTUM]] : (tensor<f64>) -> tensor<f32>
// CHECK: [[DECAY:%.*]] = dlc.mul [[W]],
// CHECK: [[L2:%.*]] = dlc.add [[G]], [[DECAY]]
// CHECK: [[KEPT:%.*]] = dlc.mul [[M]], [[FACTOR]]
// CHECK: [[NM:%.*]] = dlc.add [[KEPT]], [[L2]]
// CHECK: [[MOVE:%.*]] = dlc.mul [[LR]], [[NM]]
// CHECK: [[NW:%.*]] = dlc.sub [[W]], [[MOVE]]
// CHECK: dlc.write @w, [[NW]]
// CHECK: dlc.write @w.m, [[NM]]
// CHECK-NOT: dlc.gradient
// CHECK: [[NEXT:%.*]] = dlc.add [[STEP]],
// CHECK: dlc.write @step, [[NEXT]]
// CHECK: return {{.*}}, {{.*}} : tensor<f32>, tensor<f32>

// Without momentum there is no moment.
// PLAIN-NOT: moment
// PLAIN: [[MOVE:%.*]] = dlc.mul {{.*}}, %arg1
// PLAIN: dlc.sub {{.*}}, [[MOVE]]

// AdamW: bias corrections and 1 - lr decay in f64 from the step, then rounded.
// ADAM: dlc.state @w.m
// ADAM: dlc.state @w.v : tensor<2xf32> moment init
// ADAM-NOT: moment
// ADAM: [[T:%.*]] = dlc.cast {{.*}} : (tensor<i64>) -> tensor<f64>
// ADAM: [[N:%.*]] = dlc.add [[T]],
// ADAM: [[P1:%.*]] = dlc.pow {{.*}}, [[N]]
// ADAM: [[C1:%.*]] = dlc.sub {{.*}}, [[P1]]
// ADAM: [[SIZE:%.*]] = dlc.div {{.*}}, [[C1]]
// ADAM: [[P2:%.*]] = dlc.pow {{.*}}, [[N]]
// ADAM: [[C2:%.*]] = dlc.sub {{.*}}, [[P2]]
// ADAM: [[ROOT:%.*]] = dlc.sqrt [[C2]]
// ADAM: [[W:%.*]] = dlc.read @w :
// ADAM-DAG: [[SIZE32:%.*]] = dlc.cast [[SIZE]] : (tensor<f64>) -> tensor<f32>
// ADAM-DAG: [[ROOT32:%.*]] = dlc.cast [[ROOT]] : (tensor<f64>) -> tensor<f32>
// ADAM: [[SHRUNK:%.*]] = dlc.mul [[W]],
// ADAM: [[V:%.*]] = dlc.sqrt
// ADAM: dlc.div [[V]], [[ROOT32]]
// ADAM: [[MOVE:%.*]] = dlc.mul [[SIZE32]],
// ADAM: [[NEW:%.*]] = dlc.sub [[SHRUNK]], [[MOVE]]
// ADAM: dlc.write @w, [[NEW]]

// The largest second moment is a third state, and what the root is taken of.
// AMSGRAD: dlc.state @w.vmax
// AMSGRAD: [[OLD:%.*]] = dlc.read @w.vmax
// AMSGRAD: [[MAX:%.*]] = dlc.max [[OLD]],
// AMSGRAD: dlc.sqrt [[MAX]]
// AMSGRAD: dlc.write @w.vmax, [[MAX]]

// Squares start at 1; without momentum there is no other moment.
// TF: dlc.state @w.v : tensor<2xf32> moment init = 1.000000e+00 : f32 of = @w
// TF-NOT: moment
// TF: dlc.write @w.v

// LION: [[SIGN:%.*]] = dlc.sign
// LION: dlc.mul {{.*}}, [[SIGN]]

// NADAM: dlc.state @step.product : tensor<f32> step init = 1.000000e+00 : f32
// NADAM-DAG: dlc.constant dense<0.95999
// NADAM-DAG: [[OLD:%.*]] = dlc.read @step.product : tensor<f32>
// NADAM: [[WIDE:%.*]] = dlc.cast [[OLD]] : (tensor<f32>) -> tensor<f64>
// NADAM: [[NEXT:%.*]] = dlc.mul [[WIDE]],
// NADAM: [[NEW:%.*]] = dlc.cast [[NEXT]] : (tensor<f64>) -> tensor<f32>
// NADAM: dlc.write @step.product, [[NEW]]
// NADAM: dlc.write @w.m
// NADAM: dlc.write @w.v
// With a flag, the product stays where it is in an overflow.
// NADAM: [[OK:%.*]] = dlc.all_finite
// NADAM: [[OLD:%.*]] = dlc.read @step.product
// NADAM: [[KEPT:%.*]] = dlc.select [[OK]], {{.*}}, [[OLD]]
// NADAM: dlc.write @step.product, [[KEPT]]

// Moments in half: widened before the arithmetic, rounded when they are written; the parameter moves by what was not
// rounded.
// HALF: dlc.state @w : tensor<2xf32>
// HALF: dlc.state @w.m : tensor<2xbf16> moment init = 0.000000e+00 : bf16 of = @w
// HALF: dlc.state @w.v : tensor<2xbf16> moment
// HALF: [[M:%.*]] = dlc.read @w.m : tensor<2xbf16>
// HALF: [[V:%.*]] = dlc.read @w.v : tensor<2xbf16>
// HALF: dlc.cast [[M]] : (tensor<2xbf16>) -> tensor<2xf32>
// HALF: [[NM:%.*]] = dlc.add {{.*}} -> tensor<2xf32>
// HALF: [[NV:%.*]] = dlc.add {{.*}} -> tensor<2xf32>
// HALF: dlc.sqrt [[NV]]
// HALF: dlc.write @w, {{.*}} : tensor<2xf32>
// HALF: [[RV:%.*]] = dlc.cast [[NV]] : (tensor<2xf32>) -> tensor<2xbf16>
// HALF: dlc.write @w.v, [[RV]] : tensor<2xbf16>

// MOMENTS: moments: 'fp16' is not one of f32, bf16, 8bit
// UNKNOWN: optimizer: 'sgdm' is not one of sgd, adam, adamw, radam, nadam, adafactor, lars, rmsprop, rmsprop_tf, adagrad, lamb, lion, muon
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
// CHECK: [[NW:%.*]] = dlc.sub [[W]],
// CHECK: [[SW:%.*]] = dlc.select [[OK]], [[NW]], [[W]]
// CHECK: dlc.write @w, [[SW]]
// CHECK: [[SM:%.*]] = dlc.select [[OK]], {{.*}}, [[M]]
// CHECK: dlc.write @w.m, [[SM]]
// CHECK: [[NEXT:%.*]] = dlc.add [[STEP]],
// CHECK: [[SN:%.*]] = dlc.select [[OK]], [[NEXT]], [[STEP]]
// CHECK: dlc.write @step, [[SN]]
dlc.state @w : tensor<2xf32> param init = "w" trainable
func.func @train_step(%loss: tensor<f32>, %g: tensor<2xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  %finite = dlc.all_finite %g {dlc.gate} : (tensor<2xf32>) -> tensor<i1>
  dlc.gradient @w, %g : tensor<2xf32>
  return %loss : tensor<f32>
}

// -----

// Of a gradient that is rows the rule takes these rows, and the state gets them back. The number behind the last row is of none.
// PLAIN: module
// PLAIN: [[W:%.*]] = dlc.read @table :
// PLAIN: [[LAST:%.*]] = dlc.constant dense<8> : tensor<i64>
// PLAIN: [[ROW:%.*]] = dlc.min %arg1, [[LAST]]
// PLAIN: [[OLD:%.*]] = dlc.gather [[W]], [[ROW]] {axis = 0 : i64}
// PLAIN: [[MOVE:%.*]] = dlc.mul {{.*}}, %arg0
// PLAIN: [[NEW:%.*]] = dlc.sub [[OLD]], [[MOVE]]
// PLAIN: [[PUT:%.*]] = dlc.put_rows [[W]], %arg1, [[NEW]] : (tensor<9x3xf32>, tensor<4xi64>, tensor<4x3xf32>) -> tensor<9x3xf32>
// PLAIN: dlc.write @table, [[PUT]]
// ADAM: dlc.read @table :
// ADAM-COUNT-3: dlc.gather {{.*}} -> tensor<4x3xf32>
// ADAM-COUNT-3: dlc.put_rows {{.*}} -> tensor<9x3xf32>
dlc.state @table : tensor<9x3xf32> param init = "table" trainable
func.func @train_step(%g: tensor<4x3xf32>, %rows: tensor<4xi64>) {
  dlc.gradient @table, %g at %rows : tensor<4x3xf32>, tensor<4xi64>
  return
}
