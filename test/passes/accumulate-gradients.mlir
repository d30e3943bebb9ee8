// RUN: %dlc-opt %s --split-input-file --dlc-accumulate-gradients=accumulate=4 | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-accumulate-gradients | FileCheck %s --check-prefix=OFF
// RUN: not %dlc-opt %s --split-input-file --dlc-accumulate-gradients=accumulate=0 2>&1 | FileCheck %s --check-prefix=NONE

// A sum beside each parameter with a gradient and each result; sums of halves are f32.
// CHECK: dlc.state @accumulate.position : tensor<i64> step init = 0
// CHECK: dlc.state @"grad/w" : tensor<2xf32> accumulator init = 0.000000e+00 : f32 of = @w
// CHECK: dlc.state @"grad/h" : tensor<3xf32> accumulator init = 0.000000e+00 : f32 of = @h
// CHECK: dlc.state @accumulate.loss : tensor<f32> accumulator

// The last micro-batch: what follows sees the sums. The forward's write stays.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: [[LOSS:%.*]]: tensor<f32>, [[DW:%.*]]: tensor<2xf32>, [[DH:%.*]]: tensor<3xbf16>)
// CHECK: dlc.write @mean
// CHECK: [[SW:%.*]] = dlc.read @"grad/w"
// CHECK: [[GW:%.*]] = dlc.add [[SW]], [[DW]]
// CHECK: dlc.gradient @w, [[GW]]
// CHECK: [[SH:%.*]] = dlc.read @"grad/h"
// CHECK: [[WIDE:%.*]] = dlc.cast [[DH]] : {{.*}} -> tensor<3xf32>
// CHECK: [[GH:%.*]] = dlc.add [[SH]], [[WIDE]]
// CHECK: [[NARROW:%.*]] = dlc.cast [[GH]] : {{.*}} -> tensor<3xbf16>
// CHECK: dlc.gradient @h, [[NARROW]]
// CHECK: [[PART:%.*]] = dlc.div [[LOSS]]
// CHECK: [[SL:%.*]] = dlc.read @accumulate.loss
// CHECK: [[MEAN:%.*]] = dlc.add [[SL]], [[PART]]
// CHECK: dlc.write @accumulate.position
// CHECK: return [[MEAN]]

// The others: the first replaces the sums of the last window.
// CHECK-LABEL: func.func @accumulate_step
// CHECK-NOT: dlc.gradient
// CHECK: dlc.write @mean
// CHECK: [[DONE:%.*]] = dlc.read @accumulate.position
// CHECK: [[FIRST:%.*]] = dlc.compare eq [[DONE]]
// CHECK: [[OLD:%.*]] = dlc.read @"grad/w"
// CHECK: [[SUM:%.*]] = dlc.add [[OLD]], {{%.*}}
// CHECK: [[NEW:%.*]] = dlc.select [[FIRST]], {{%.*}}, [[SUM]]
// CHECK: dlc.write @"grad/w", [[NEW]]
// CHECK: dlc.write @"grad/h"
// CHECK: dlc.write @accumulate.loss
// CHECK: dlc.write @accumulate.position

// OFF-NOT: accumulate
// NONE: accumulate: expected a whole number from 1 to 1048576, found '0'
dlc.state @w : tensor<2xf32> param init = "w" trainable
dlc.state @h : tensor<3xbf16> param init = "h" trainable
dlc.state @mean : tensor<2xf32> buffer init = "mean"
func.func @train_step(%loss: tensor<f32>, %dw: tensor<2xf32>, %dh: tensor<3xbf16>)
    -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.write @mean, %dw : tensor<2xf32>
  dlc.gradient @w, %dw : tensor<2xf32>
  dlc.gradient @h, %dh : tensor<3xbf16>
  return %loss : tensor<f32>
}

// -----

// Rows with weights: micro-batches count by what they have divided by, and the window is divided by what all weights give.
// CHECK: dlc.state @accumulate.weights : tensor<2xf32> accumulator
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: [[LOSS:%.*]]: tensor<f32>, [[DW:%.*]]: tensor<2xf32>, [[OWN:%.*]]: tensor<f32>, [[WEIGHTS:%.*]]: tensor<2xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "found_inf.a"})
// CHECK: [[BEFORE:%.*]] = dlc.read @accumulate.weights
// CHECK: [[SENT:%.*]] = dlc.add [[BEFORE]], [[WEIGHTS]]
// CHECK: [[SUMS:%.*]] = dlc.all_reduce [[SENT]] op = sum
// CHECK: [[D:%.*]] = dlc.reshape
// CHECK: [[WIDE:%.*]] = dlc.cast [[D]] : {{.*}} -> tensor<f64>
// CHECK: [[INVERSE:%.*]] = dlc.div {{%.*}}, [[WIDE]]
// CHECK: [[SW:%.*]] = dlc.read @"grad/w"
// CHECK: [[TIMES:%.*]] = dlc.mul [[DW]], [[OWN]]
// CHECK: [[SUM:%.*]] = dlc.add [[SW]], [[TIMES]]
// CHECK: [[BY:%.*]] = dlc.cast [[INVERSE]]
// CHECK: [[GW:%.*]] = dlc.mul [[SUM]], [[BY]]
// CHECK: dlc.gradient @w, [[GW]]
// CHECK: [[PART:%.*]] = dlc.div [[LOSS]]
// CHECK: [[OF:%.*]] = dlc.mul [[PART]], [[OWN]]
// CHECK: [[SL:%.*]] = dlc.read @accumulate.loss
// CHECK: [[MEAN:%.*]] = dlc.add [[SL]], [[OF]]
// CHECK: [[BYALL:%.*]] = dlc.cast [[INVERSE]]
// CHECK: [[ALL:%.*]] = dlc.mul [[MEAN]], [[BYALL]]
// CHECK: [[FLAG:%.*]] = dlc.add
// CHECK: return [[ALL]], [[FLAG]]

// CHECK-LABEL: func.func @accumulate_step
// CHECK-NOT: dlc.all_reduce
// CHECK: dlc.mul {{%.*}}, [[OWN:%.*]] : (tensor<2xf32>, tensor<f32>)
// CHECK: dlc.write @"grad/w"
// CHECK: dlc.write @accumulate.loss
// CHECK: dlc.write @accumulate.weights
dlc.state @w : tensor<2xf32> param init = "w" trainable
func.func @train_step(%loss: tensor<f32>, %dw: tensor<2xf32>, %own: tensor<f32>, %weights: tensor<2xf32>)
    -> (tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "divisor.own"}, tensor<f32> {dlc.name = "divisor.whole"}, tensor<f32> {dlc.name = "found_inf.a"}) {
  %sums = dlc.all_reduce %weights op = sum : (tensor<2xf32>) -> tensor<2xf32>
  %first = dlc.slice %sums {sizes = array<i64: 1>, starts = array<i64: 0>, steps = array<i64: 1>} : (tensor<2xf32>) -> tensor<1xf32>
  %whole = dlc.reshape %first : (tensor<1xf32>) -> tensor<f32>
  dlc.gradient @w, %dw : tensor<2xf32>
  return %loss, %own, %whole, %loss : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
