// Several losses with a scaler each: two outputs, a common parameter and one of the first loss alone.
// RUN: %dlc-opt %s --dlc-autodiff=loss-scale-per-loss | FileCheck %s --check-prefix=DIFF
// RUN: %dlc-opt %s --dlc-autodiff=loss-scale-per-loss --dlc-scale-loss=loss-scale=dynamic --dlc-unscale-losses | FileCheck %s
// RUN: %dlc-opt %s --dlc-autodiff=loss-scale-per-loss --dlc-scale-loss=loss-scale=dynamic --dlc-unscale-losses \
// RUN:   --dlc-insert-all-reduce="ddp=2 first-bucket-mb=9.5367431640625e-07 bucket-mb=9.5367431640625e-07" --dlc-unscale=loss-scale=dynamic | FileCheck %s --check-prefix=MOVE
// RUN: %dlc-opt %s --dlc-autodiff --dlc-scale-loss=loss-scale=dynamic --dlc-unscale-losses | FileCheck %s --check-prefix=ONE

// A backward graph for each loss, from it alone.
// DIFF: [[A:%.*]] = dlc.seed {loss = "a"}
// DIFF: dlc.gradient @u, {{%.*}} {loss = "a"}
// DIFF: dlc.gradient @w, {{%.*}} {loss = "a"}
// DIFF: [[B:%.*]] = dlc.seed {loss = "b"}
// DIFF: dlc.mul [[B]],
// DIFF-NOT: dlc.gradient @u
// DIFF: dlc.gradient @w, {{%.*}} {loss = "b"}

// Each has a scale; what is divided by it is looked at before, and added up after.
// CHECK: dlc.state @scaler.scale.a : tensor<f32> scaler init = 6.553600e+04 : f32
// CHECK: dlc.state @scaler.scale.b : tensor<f32> scaler init = 6.553600e+04 : f32
// CHECK: {dlc.name = "loss.b", dlc.weight = 2.500000e-01 : f64}, tensor<f32> {dlc.name = "found_inf.a"}, tensor<f32> {dlc.name = "found_inf.b"})
// CHECK-DAG: [[SB:%.*]] = dlc.read @scaler.scale.b
// CHECK-DAG: [[SA:%.*]] = dlc.read @scaler.scale.a
// CHECK: [[U:%.*]] = dlc.mul [[RAWU:%.*]], {{%.*}} : (tensor<2xf32>, tensor<f32>)
// CHECK: dlc.gradient @u, [[U]] : tensor<2xf32>
// CHECK: [[WA:%.*]] = dlc.mul [[RAWA:%.*]], {{%.*}} : (tensor<2xf32>, tensor<f32>)
// CHECK-NOT: dlc.gradient
// CHECK: [[FINITEA:%.*]] = dlc.all_finite [[RAWU]], [[RAWA]] :
// CHECK: [[NOTA:%.*]] = dlc.not [[FINITEA]]
// CHECK: [[FOUNDA:%.*]] = dlc.cast [[NOTA]]
// CHECK: [[WB:%.*]] = dlc.mul [[RAWB:%.*]], {{%.*}} : (tensor<2xf32>, tensor<f32>)
// CHECK: [[W:%.*]] = dlc.add [[WA]], [[WB]]
// CHECK: dlc.gradient @w, [[W]] : tensor<2xf32>
// CHECK: dlc.all_finite [[RAWB]] :
// CHECK: return {{.*}}, [[FOUNDA]], {{%.*}} :

// The flags travel in the last bucket. A scale backs off for its own loss, or if only the sum overflows; the step counts
// if all is finite.
// MOVE: {dlc.name = "loss_scale.a"}, tensor<f32> {dlc.name = "loss_scale.b"}, tensor<f32> {dlc.name = "found_inf"})
// MOVE: [[FOUNDA:%.*]] = dlc.all_reduce {{.*}} {bucket = 5 : i64} : (tensor<f32>)
// MOVE: {bucket = 4 : i64, of = @{{.*}}} : (tensor<2xf32>)
// MOVE: [[FOUNDB:%.*]] = dlc.all_reduce {{.*}} {bucket = 6 : i64} : (tensor<f32>)
// MOVE: [[SUM:%.*]] = dlc.all_finite
// MOVE: [[OKA:%.*]] = dlc.compare eq [[FOUNDA]],
// MOVE: dlc.and [[SUM]], [[OKA]]
// MOVE: [[OKB:%.*]] = dlc.compare eq [[FOUNDB]],
// MOVE: dlc.and {{.*}} {dlc.gate}
// MOVE: [[EXPLAINED:%.*]] = dlc.or
// MOVE: [[FINEA:%.*]] = dlc.and [[OKA]], [[EXPLAINED]]
// MOVE: [[NEXT:%.*]] = dlc.select [[FINEA]]
// MOVE: dlc.write @scaler.scale.a, [[NEXT]]
// MOVE: dlc.write @scaler.growth.a
// MOVE: [[FINEB:%.*]] = dlc.and [[OKB]], [[EXPLAINED]]
// MOVE: dlc.write @scaler.scale.b
// MOVE: dlc.write @scaler.growth.b

// With one scaler for all there is nothing to do.
// ONE: dlc.state @scaler.scale : tensor<f32>
// ONE-NOT: dlc.all_finite
dlc.state @w : tensor<2xf32> param init = "w" trainable
dlc.state @u : tensor<2xf32> param init = "u" trainable
func.func @train_step(%x: tensor<2xf32>) -> (tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "loss.a"},
                                             tensor<f32> {dlc.name = "loss.b", dlc.weight = 0.25 : f64}) {
  %w = dlc.read @w : tensor<2xf32>
  %u = dlc.read @u : tensor<2xf32>
  %h = dlc.mul %w, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %p = dlc.mul %h, %u : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %a = dlc.reduce_sum %p {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  %b = dlc.reduce_sum %h {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  %c = dlc.constant dense<0.25> : tensor<f32>
  %part = dlc.mul %b, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = dlc.add %a, %part : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss, %a, %b : tensor<f32>, tensor<f32>, tensor<f32>
}
