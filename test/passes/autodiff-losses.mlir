// Several losses that train other parameters: a pair of networks, of which @g makes what @d judges.
// RUN: %dlc-opt %s '--dlc-autodiff=loss=real:mse,fake:mse,fool:mse loss-params=^d:real,^d:fake,^g:fool' | FileCheck %s
// RUN: %dlc-opt %s '--dlc-autodiff=loss=real:mse,fake:mse,fool:mse loss-params=^g:fool' | FileCheck %s --check-prefix=SHARED
// RUN: not %dlc-opt %s '--dlc-autodiff=loss=real:mse,fake:mse,fool:mse loss-params=^g:real' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %dlc-opt %s '--dlc-autodiff=loss=real:mse,fake:mse,fool:mse loss-params=^d:real,^d:fake,^d:fool' 2>&1 | FileCheck %s --check-prefix=WARN
// RUN: not %dlc-opt %s '--dlc-autodiff=loss=real:mse,fake:mse,fool:mse loss-params=^e:real' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// What trains the same has one backward graph: that of @d ends before @g, and that of @g goes through @d.
// CHECK: [[SEED:%.*]] = dlc.seed : tensor<f32>
// CHECK-NOT: dlc.seed
// CHECK: dlc.gradient @d,
// CHECK: [[HALF:%.*]] = dlc.mul [[SEED]],
// CHECK: dlc.gradient @g,
// CHECK-NOT: dlc.gradient

// A loss without a row trains all: parts of one state's gradient are added up.
// SHARED-NOT: dlc.gradient
// SHARED: dlc.gradient @d,
// SHARED-NOT: dlc.gradient @d
// SHARED: [[SUM:%.*]] = dlc.add
// SHARED: dlc.gradient @g, [[SUM]]
// SHARED-NOT: dlc.gradient

// NONE: no gradient reaches any parameter: the loss depends on none of them
// WARN: warning: no loss trains 'g' (--loss-params); their values stay as they are
// WARN: dlc.state @g : tensor<2xf32> param init = "g"{{$}}
// UNKNOWN: --loss-params=^e:real matches no trained parameter; did you mean 'd'?
dlc.state @d : tensor<2xf32> param init = "d" trainable
dlc.state @g : tensor<2xf32> param init = "g" trainable
func.func @train_step(%x: tensor<2xf32>, %z: tensor<2xf32>)
    -> (tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "loss.real"}, tensor<f32> {dlc.name = "loss.fake"},
        tensor<f32> {dlc.name = "loss.fool", dlc.weight = 0.5 : f64}) {
  %d = dlc.read @d : tensor<2xf32>
  %g = dlc.read @g : tensor<2xf32>
  %made = dlc.mul %g, %z : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %judged = dlc.mul %d, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %judgedToo = dlc.mul %d, %made : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %square = dlc.mul %judgedToo, %judgedToo : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %real = dlc.reduce_sum %judged {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  %fake = dlc.reduce_sum %square {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  %fool = dlc.reduce_sum %judgedToo {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  %c = dlc.constant dense<0.5> : tensor<f32>
  %weighted = dlc.mul %fool, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %part = dlc.add %real, %fake : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = dlc.add %part, %weighted : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss, %real, %fake, %fool : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
