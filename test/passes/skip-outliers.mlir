// RUN: %dlc-opt %s --dlc-skip-outliers="skip-loss-zscore=3 skip-grad-zscore=5" --dlc-insert-optimizer="optimizer=sgd momentum=0" | FileCheck %s
// RUN: %dlc-opt %s --dlc-skip-outliers=skip-loss-zscore=3 --dlc-insert-optimizer="optimizer=sgd momentum=0" | FileCheck %s --check-prefix=ONE
// RUN: %dlc-opt %s --dlc-skip-outliers | FileCheck %s --check-prefix=OFF
// RUN: not %dlc-opt %s --dlc-skip-outliers=skip-loss-zscore=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// CHECK: dlc.state @outlier.loss : tensor<128xf32> step
// CHECK: dlc.state @outlier.loss.count : tensor<i64> step init = 0
// CHECK: dlc.state @outlier.grad_norm : tensor<128xf32> step
// CHECK: @train_step([[LOSS:%.*]]: tensor<f32>, [[NORM:%.*]]: tensor<f32>, [[G:%.*]]: tensor<2xf32>)
// CHECK-SAME: tensor<f32> {dlc.name = "skipped"}

// The finite value takes the place of the oldest; deviations are taken with it.
// CHECK: [[COUNT:%.*]] = dlc.read @outlier.loss.count
// CHECK: [[FINITE:%.*]] = dlc.is_finite [[LOSS]]
// CHECK: [[OLD:%.*]] = dlc.read @outlier.loss :
// CHECK: [[WINDOW:%.*]] = dlc.select {{%.*}}, {{%.*}}, [[OLD]]
// CHECK: dlc.write @outlier.loss, [[WINDOW]]
// CHECK: dlc.select [[FINITE]]
// CHECK: dlc.write @outlier.loss.count
// CHECK: [[X:%.*]] = dlc.cast [[WINDOW]] : {{.*}} -> tensor<128xf64>
// CHECK: [[MEAN:%.*]] = dlc.reduce_mean [[X]]
// CHECK: [[FULL:%.*]] = dlc.compare ge [[COUNT]]
// CHECK: [[FAR:%.*]] = dlc.compare gt
// CHECK: [[BADLOSS:%.*]] = dlc.and [[FULL]], [[FAR]]

// Either is enough; with an overflow flag, both conditions gate the update.
// CHECK: dlc.read @outlier.grad_norm.count
// CHECK: [[OUT:%.*]] = dlc.or [[BADLOSS]], {{%.*}}
// CHECK: [[IN:%.*]] = dlc.not [[OUT]]
// CHECK: [[GO:%.*]] = dlc.and {{%.*}}, [[IN]]
// CHECK: [[NEW:%.*]] = dlc.select [[GO]]
// CHECK: dlc.write @w, [[NEW]]
// CHECK: [[STEP:%.*]] = dlc.select [[GO]]
// CHECK: dlc.write @step, [[STEP]]

// ONE-NOT: outlier.grad_norm
// ONE: {dlc.name = "skipped"}
// OFF-NOT: outlier
// NEGATIVE: skip-loss-zscore: expected a number of at least 0, found '-1'
dlc.state @w : tensor<2xf32> param init = "w" trainable
func.func @train_step(%loss: tensor<f32>, %norm: tensor<f32>, %g: tensor<2xf32>)
    -> (tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "grad_norm"}) {
  %finite = dlc.all_finite %g {dlc.gate} : (tensor<2xf32>) -> tensor<i1>
  dlc.gradient @w, %g : tensor<2xf32>
  return %loss, %norm : tensor<f32>, tensor<f32>
}
