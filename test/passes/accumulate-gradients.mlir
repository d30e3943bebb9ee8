// RUN: %dlc-opt %s --dlc-accumulate-gradients=accumulate=4 | FileCheck %s
// RUN: %dlc-opt %s --dlc-accumulate-gradients | FileCheck %s --check-prefix=OFF
// RUN: not %dlc-opt %s --dlc-accumulate-gradients=accumulate=0 2>&1 | FileCheck %s --check-prefix=NONE

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
