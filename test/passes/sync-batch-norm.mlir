// RUN: %dlc-opt %s --split-input-file --dlc-sync-batch-norm="ddp=2 sync-bn" | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-sync-batch-norm="ddp=2" | FileCheck %s --check-prefix=OWN
// RUN: %dlc-opt %s --split-input-file --dlc-sync-batch-norm="ddp=1 sync-bn" | FileCheck %s --check-prefix=OWN
// RUN: %dlc-opt %s --split-input-file --pass-pipeline='builtin.module(dlc-sync-batch-norm{ddp=2 sync-bn},dlc-place,func.func(dlc-decompose),canonicalize,cse)' | FileCheck %s --check-prefix=OPS

// A bucket a layer and direction, behind those of the gradients; in every function of the step.
// CHECK-LABEL: @train_step
// CHECK: dlc.batch_norm {{.*}} {dlc.bucket = 4 : i64, epsilon
// CHECK: dlc.batch_norm_backward {{.*}} {dlc.bucket = 5 : i64, epsilon
// CHECK-LABEL: @accumulate_step
// CHECK: dlc.batch_norm {{.*}} {dlc.bucket = 0 : i64, epsilon
// OWN-NOT: dlc.batch_norm{{.*}}dlc.bucket

// Forward: sum, sum of squares and count of each channel, in f64; the running variance is by the count of all ranks.
// OPS-LABEL: @train_step
// OPS: %[[SENT:.*]] = dlc.concat {{.*}} : (tensor<3xf64>, tensor<3xf64>, tensor<1xf64>) -> tensor<7xf64>
// OPS: %[[ALL:.*]] = dlc.all_reduce %[[SENT]] op = sum {bucket = 4 : i64} : (tensor<7xf64>)
// OPS: dlc.slice %[[ALL]] {{.*}} -> tensor<1xf64>
// OPS: dlc.rsqrt
// Backward: the two sums that dx needs; those that are gradients stay this rank's.
// OPS: %[[SUM:.*]] = dlc.reduce_sum
// OPS: %[[SENT2:.*]] = dlc.concat {{.*}} -> tensor<7xf64>
// OPS: dlc.all_reduce %[[SENT2]] op = sum {bucket = 5 : i64}
// OPS: dlc.all_reduce {{.*}} {bucket = 3 : i64, of = @bias}
dlc.state @scale : tensor<3xf32> param init = "scale" trainable
dlc.state @bias : tensor<3xf32> param init = "bias" trainable
func.func @train_step(%x: tensor<4x3x2x2xf32>, %dy: tensor<4x3x2x2xf32>, %m: tensor<3xf32>) -> (tensor<4x3x2x2xf32>, tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>) {
  %s = dlc.read @scale : tensor<3xf32>
  %b = dlc.read @bias : tensor<3xf32>
  %y:5 = dlc.batch_norm %x, %s, %b, %m, %m {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64, unbiased} : (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %g:3 = dlc.batch_norm_backward %dy, %x, %s, %y#3, %y#4 {epsilon = 1.0e-5 : f64} : (tensor<4x3x2x2xf32>, tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>)
  %ds = dlc.all_reduce %g#1 {bucket = 2 : i64, of = @scale} : (tensor<3xf32>) -> tensor<3xf32>
  dlc.gradient @scale, %ds : tensor<3xf32>
  %db = dlc.all_reduce %g#2 {bucket = 3 : i64, of = @bias} : (tensor<3xf32>) -> tensor<3xf32>
  dlc.gradient @bias, %db : tensor<3xf32>
  return %y#0, %g#0, %y#1, %y#2 : tensor<4x3x2x2xf32>, tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>
}
func.func @accumulate_step(%x: tensor<4x3x2x2xf32>, %m: tensor<3xf32>) -> tensor<4x3x2x2xf32> {
  %y:5 = dlc.batch_norm %x, %m, %m, %m, %m {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %y#0 : tensor<4x3x2x2xf32>
}
