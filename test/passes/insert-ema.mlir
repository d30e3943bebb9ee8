// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema="tau=0 decay=0.5" | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema | FileCheck %s --check-prefix=RAMP
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-ema=decay=2 2>&1 | FileCheck %s --check-prefix=RANGE

// Parameters and float buffers that the step writes, from the written value; nothing else.
// CHECK-DAG: dlc.state @"ema/w" : tensor<2xf32> ema init = @w of = @w
// CHECK-DAG: dlc.state @"ema/mean" : tensor<2xf32> ema init = @mean of = @mean
// CHECK-NOT: ema/
// CHECK: @train_step({{.*}}, [[W:%.*]]: tensor<2xf32>)
// CHECK: dlc.write @mean, [[W]]
// CHECK: [[D:%.*]] = dlc.constant dense<5.000000e-01> : tensor<f64>
// CHECK: [[T:%.*]] = dlc.cast [[D]]
// CHECK: [[E:%.*]] = dlc.read @"ema/w"
// CHECK: [[N:%.*]] = dlc.lerp [[E]], [[W]], [[T]]
// CHECK: dlc.write @"ema/w", [[N]]
// CHECK: dlc.read @"ema/mean"
// CHECK: dlc.lerp {{.*}}, [[W]], [[T]]

// 1 - decay (1 - exp(-n / tau)) with n counted from 1.
// RAMP: dlc.state @ema.updates : tensor<i64> step init = 0 : i64
// RAMP: [[OLD:%.*]] = dlc.read @ema.updates
// RAMP: [[N:%.*]] = dlc.add [[OLD]],
// RAMP: dlc.write @ema.updates, [[N]]
// RAMP: [[WIDE:%.*]] = dlc.cast [[N]]
// RAMP: [[NEG:%.*]] = dlc.neg [[WIDE]]
// RAMP: [[Q:%.*]] = dlc.div [[NEG]],
// RAMP: [[EXP:%.*]] = dlc.exp [[Q]]
// RAMP: [[RISE:%.*]] = dlc.sub {{.*}}, [[EXP]]
// RAMP: [[DECAY:%.*]] = dlc.mul [[RISE]],
// RAMP: [[T64:%.*]] = dlc.sub {{.*}}, [[DECAY]]
// RAMP: [[T:%.*]] = dlc.cast [[T64]]
// RAMP: dlc.lerp {{.*}}, {{.*}}, [[T]]

// RANGE: expected an EMA decay between 0 and 1, found 2
dlc.state @w : tensor<2xf32> param init = "w" trainable
dlc.state @w.m : tensor<2xf32> moment init = 0.0 : f32 of = @w
dlc.state @frozen : tensor<2xf32> param init = "frozen"
dlc.state @mean : tensor<2xf32> buffer init = "mean"
dlc.state @count : tensor<i64> buffer init = "count"
func.func @train_step(%loss: tensor<f32>, %count: tensor<i64>, %new: tensor<2xf32>) -> tensor<f32> {
  dlc.write @w, %new : tensor<2xf32>
  dlc.write @w.m, %new : tensor<2xf32>
  dlc.write @mean, %new : tensor<2xf32>
  dlc.write @count, %count : tensor<i64>
  return %loss : tensor<f32>
}

// -----

// An overflow leaves average and counter as they are.
// RAMP: [[OK:%.*]] = dlc.all_finite
// RAMP: [[KEPT:%.*]] = dlc.select [[OK]],
// RAMP: dlc.write @ema.updates, [[KEPT]]
// RAMP: [[E:%.*]] = dlc.read @"ema/w"
// RAMP: [[N:%.*]] = dlc.lerp [[E]],
// RAMP: [[S:%.*]] = dlc.select [[OK]], [[N]], [[E]]
// RAMP: dlc.write @"ema/w", [[S]]
dlc.state @w : tensor<2xf32> param init = "w" trainable
func.func @train_step(%loss: tensor<f32>, %new: tensor<2xf32>) -> tensor<f32> {
  %finite = dlc.all_finite %new : (tensor<2xf32>) -> tensor<i1>
  dlc.write @w, %new : tensor<2xf32>
  return %loss : tensor<f32>
}
