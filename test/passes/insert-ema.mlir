// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema="ema-kind=constant ema=0.5" | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema | FileCheck %s --check-prefix=RAMP
// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema="ema-kind=timm ema-start=5 ema-warmup ema=0.9" | FileCheck %s --check-prefix=TIMM
// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema="ema-kind=swa" | FileCheck %s --check-prefix=SWA
// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema="ema-kind=constant ema-buffers=copy" | FileCheck %s --check-prefix=TAKEN
// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema="ema-kind=constant ema-buffers=exclude" | FileCheck %s --check-prefix=EXCLUDE
// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema="ema-kind=constant ema=0.9,0.5" | FileCheck %s --check-prefix=TWO
// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema="ema-kind=constant ema=0.9 ema-ramp=0.05" | FileCheck %s --check-prefix=EDM
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-ema=ema-ramp=0.05 2>&1 | FileCheck %s --check-prefix=EDMKIND
// RUN: %dlc-opt %s --split-input-file --dlc-insert-ema="ema-device=cpu" | FileCheck %s --check-prefix=HOST
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-ema="ema-device=cpu target=cuda" 2>&1 | FileCheck %s --check-prefix=CUDA
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-ema=ema-device=gpu 2>&1 | FileCheck %s --check-prefix=WHERE
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-ema=ema=2 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-ema=ema-kind=mean 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-ema=ema-buffers=drop 2>&1 | FileCheck %s --check-prefix=BUFFERS
// RUN: not %dlc-opt %s --split-input-file --dlc-insert-ema=ema-halflife=100 2>&1 | FileCheck %s --check-prefix=ROWS

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

// clamp of 1 - (1 + (k - 1) / gamma)^-power by 1 - d; a copy while k <= 1.
// TIMM: dlc.read @ema.updates
// TIMM: [[K:%.*]] = dlc.sub
// TIMM: [[LEFT:%.*]] = dlc.pow
// TIMM: [[MOST:%.*]] = dlc.max [[LEFT]],
// TIMM: [[W:%.*]] = dlc.min [[MOST]],
// TIMM: [[COPY:%.*]] = dlc.compare le [[K]],
// TIMM: dlc.select [[COPY]], {{.*}}, [[W]]

// SWA: dlc.read @ema.updates
// SWA: [[K:%.*]] = dlc.cast {{.*}} : (tensor<i64>) -> tensor<f64>
// SWA: [[W:%.*]] = dlc.div {{.*}}, [[K]]
// SWA: dlc.cast [[W]]

// At most 0.5^(1 / (ramp (k - 1))).
// EDM: dlc.read @ema.updates
// EDM: [[K:%.*]] = dlc.cast {{.*}} : (tensor<i64>) -> tensor<f64>
// EDM: [[SEEN:%.*]] = dlc.sub [[K]],
// EDM: [[SHARE:%.*]] = dlc.mul [[SEEN]],
// EDM: [[LIFE:%.*]] = dlc.max [[SHARE]],
// EDM: [[RATE:%.*]] = dlc.div {{.*}}, [[LIFE]]
// EDM: [[UP:%.*]] = dlc.pow {{.*}}, [[RATE]]
// EDM: [[D:%.*]] = dlc.min [[UP]],
// EDM: [[W:%.*]] = dlc.sub {{.*}}, [[D]]
// EDM: dlc.cast [[W]]
// EDMKIND: --ema: ramp needs decay or halflife

// On the host: a function that reads what the step has left; the step itself has no averages.
// CUDA: error: --ema's device=cpu does not support --target=cuda: the host cannot read its memory; leave out device=cpu
// HOST-LABEL: @train_step
// HOST-NOT: ema
// HOST: return
// HOST: func.func @ema_step() attributes {dlc.after = @train_step}
// HOST: dlc.write @ema.updates
// HOST: [[W:%.*]] = dlc.read @w :
// HOST: [[E:%.*]] = dlc.read @"ema/w"
// HOST: [[N:%.*]] = dlc.lerp [[E]], [[W]],
// HOST: dlc.write @"ema/w", [[N]]
// HOST: dlc.read @mean :
// HOST: dlc.write @"ema/mean"
// WHERE: ema-device: 'gpu' is not one of device, cpu

// TAKEN-NOT: ema.updates
// TAKEN: tensor<i64>, [[B:%.*]]: tensor<2xf32>) -> tensor<f32>
// TAKEN: dlc.lerp
// TAKEN: dlc.write @"ema/w"
// TAKEN: dlc.write @"ema/mean", [[B]]

// EXCLUDE-NOT: ema/mean

// TWO: dlc.state @"ema/w" : tensor<2xf32> ema init = @w of = @w
// TWO: dlc.state @"ema.2/w" : tensor<2xf32> ema init = @w of = @w
// TWO: dlc.write @"ema/w"
// TWO: dlc.write @"ema.2/w"

// KIND: ema-kind: 'mean' is not one of auto, ultralytics, constant, timm, swa
// BUFFERS: ema-buffers: 'drop' is not one of average, copy, exclude
// ROWS: an EMA half-life is in samples: expected a first input with a row for each
// RANGE: ema: expected a number from 0 to 1, found '2'
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
// The host learns of the overflow from a state.
// HOST: dlc.state @ema.moves : tensor<i1> scaler init = true
// HOST: [[OK:%.*]] = dlc.all_finite
// HOST: dlc.write @ema.moves, [[OK]]
// HOST: func.func @ema_step()
// HOST: [[MOVES:%.*]] = dlc.read @ema.moves
// HOST: [[N:%.*]] = dlc.lerp [[E:%[0-9]+]],
// HOST: dlc.select [[MOVES]], [[N]], [[E]]
dlc.state @w : tensor<2xf32> param init = "w" trainable
func.func @train_step(%loss: tensor<f32>, %new: tensor<2xf32>) -> tensor<f32> {
  %finite = dlc.all_finite %new {dlc.gate} : (tensor<2xf32>) -> tensor<i1>
  dlc.write @w, %new : tensor<2xf32>
  return %loss : tensor<f32>
}
