// RUN: %dlc-opt %s --split-input-file --dlc-append-loss 2>/dev/null | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-append-loss=loss=mse | FileCheck %s --check-prefix=MSE
// RUN: %dlc-opt %s --split-input-file --dlc-append-loss=loss=bce | FileCheck %s --check-prefix=BCE

// Cross entropy: labels come last, the training step gives the mean, evaluation the rows.
// CHECK: @train_step([[X:%.*]]: tensor<4x10xf32> {dlc.name = "in"}, [[Y:%.*]]: tensor<4xi64> {dlc.name = "y"})
// CHECK-SAME: -> (tensor<f32> {dlc.name = "loss"})
// CHECK: [[H:%.*]] = dlc.relu [[X]]
// CHECK: [[ROWS:%.*]], {{.*}} = dlc.softmax_cross_entropy [[H]], [[Y]]
// CHECK: [[LOSS:%.*]] = dlc.reduce_mean [[ROWS]] {axes = array<i64: 0>, dlc.loss}
// CHECK: return [[LOSS]]
// CHECK: @eval_step({{.*}}"in"}, {{.*}}"y"}) -> (tensor<4xf32> {dlc.name = "row_loss"}, tensor<4xf32> {dlc.name = "row_correct"})
// CHECK: [[ROWS:%.*]], {{.*}} = dlc.softmax_cross_entropy
// CHECK: [[BEST:%.*]] = dlc.argmax {{.*}} {axes = array<i64: 1>, dlc.loss}
// CHECK: [[RIGHT:%.*]] = dlc.compare eq [[BEST]],
// CHECK: [[HITS:%.*]] = dlc.cast [[RIGHT]]
// CHECK: return [[ROWS]], [[HITS]]

// MSE: @train_step({{.*}}, [[Y:%.*]]: tensor<4x10xf32> {dlc.name = "y"})
// MSE: [[D:%.*]] = dlc.sub {{.*}}, [[Y]]
// MSE: [[S:%.*]] = dlc.mul [[D]], [[D]]
// MSE: [[ROWS:%.*]] = dlc.reduce_mean [[S]] {axes = array<i64: 1>, dlc.loss}
// MSE: dlc.reduce_mean [[ROWS]] {axes = array<i64: 0>, dlc.loss}
// MSE: @eval_step{{.*}} -> (tensor<4xf32> {dlc.name = "row_loss"}) {

// BCE: @train_step({{.*}}, [[Y:%.*]]: tensor<4x10xf32> {dlc.name = "y"})
// BCE: [[H:%.*]] = dlc.relu
// BCE: [[P:%.*]] = dlc.softplus [[H]]
// BCE: [[XY:%.*]] = dlc.mul [[H]], [[Y]]
// BCE: dlc.sub [[P]], [[XY]]
// BCE: @eval_step
// BCE: dlc.compare gt
// BCE: dlc.compare gt
// BCE: dlc.compare eq
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "in"}) -> (tensor<4x10xf32> {dlc.name = "logits"}) {
  %0 = dlc.relu %x : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// -----

// Logits of any rank are rows of classes; labels are flat; half logits give an f32 loss.
// CHECK: @train_step({{.*}}, {{.*}}: tensor<12xi64> {dlc.name = "y"}) -> (tensor<f32>
// CHECK: dlc.cast {{.*}} -> tensor<4x3x10xf32>
// CHECK: dlc.reshape {{.*}} -> tensor<12x10xf32>
// CHECK: @eval_step({{.*}}) -> (tensor<12xf32>
func.func @predict(%x: tensor<4x3x10xf16>) -> tensor<4x3x10xf16> {
  return %x : tensor<4x3x10xf16>
}

// -----

// What the logits do not need is not computed in training. An input named y does not clash.
// CHECK: @train_step({{.*}} {dlc.name = "x"}, {{.*}} {dlc.name = "y"})
// CHECK-NOT: dlc.tanh
// CHECK: return
func.func @predict(%x: tensor<4x10xf32> {dlc.name = "y"}) -> (tensor<4x10xf32>, tensor<4x10xf32>) {
  %0 = dlc.tanh %x : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %x, %0 : tensor<4x10xf32>, tensor<4x10xf32>
}

// -----

// A softmax at the end is part of the loss.
// CHECK: @predict
// CHECK: dlc.softmax
// CHECK: @train_step([[X:%.*]]: {{.*}}, {{.*}})
// CHECK-NOT: dlc.softmax {{.*}}axis
// CHECK: dlc.softmax_cross_entropy [[X]]
// MSE: @predict
// MSE: @train_step
// MSE: dlc.softmax
func.func @predict(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %0 = dlc.softmax %x {axis = 1 : i64} : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// -----

// A sigmoid is part of binary cross entropy.
// BCE: @train_step([[X:%.*]]: {{.*}}, {{.*}})
// BCE: dlc.softplus [[X]]
func.func @predict(%x: tensor<4x1x2xf32>) -> tensor<4x1x2xf32> {
  %0 = dlc.sigmoid %x : (tensor<4x1x2xf32>) -> tensor<4x1x2xf32>
  return %0 : tensor<4x1x2xf32>
}
