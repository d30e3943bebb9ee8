// RUN: %dlc-opt %s --dlc-unscale=loss-scale=dynamic | FileCheck %s
// RUN: %dlc-opt %s --dlc-unscale=loss-scale=128 | FileCheck %s --check-prefix=STATIC

// Gradients are multiplied by 1 / scale, rounded once; the flag looks at what the all-reduce gave.
// CHECK: dlc.state @scaler.growth : tensor<i32> scaler init = 0 : i32
// CHECK: @train_step{{.*}} -> (tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "loss_scale"}, tensor<f32> {dlc.name = "found_inf"})
// CHECK: [[A:%.*]] = dlc.all_reduce
// CHECK: [[B:%.*]] = dlc.all_reduce
// CHECK: [[S:%.*]] = dlc.read @scaler.scale
// CHECK: [[FINITE:%.*]] = dlc.all_finite [[A]], [[B]]
// CHECK: [[WIDE:%.*]] = dlc.cast [[S]] : (tensor<f32>) -> tensor<f64>
// CHECK: [[INV:%.*]] = dlc.div {{.*}}, [[WIDE]]
// CHECK: [[INV32:%.*]] = dlc.cast [[INV]] : (tensor<f64>) -> tensor<f32>
// CHECK: [[GA:%.*]] = dlc.mul [[A]], [[INV32]]
// CHECK: dlc.gradient @a, [[GA]]
// CHECK: [[GB:%.*]] = dlc.mul [[B]], [[INV32]]
// CHECK: dlc.gradient @b, [[GB]]

// GradScaler's update: growth to the interval doubles the scale unless that is infinite; an overflow halves it.
// CHECK: [[G:%.*]] = dlc.read @scaler.growth
// CHECK: [[N:%.*]] = dlc.add [[G]],
// CHECK: [[FULL:%.*]] = dlc.compare eq [[N]],
// CHECK: [[TWICE:%.*]] = dlc.mul [[S]],
// CHECK: [[FITS:%.*]] = dlc.is_finite [[TWICE]]
// CHECK: [[GROWN:%.*]] = dlc.select [[FITS]], [[TWICE]], [[S]]
// CHECK: [[HALF:%.*]] = dlc.mul [[S]],
// CHECK: [[KEPT:%.*]] = dlc.select [[FULL]], [[GROWN]], [[S]]
// CHECK: [[NEXT:%.*]] = dlc.select [[FINITE]], [[KEPT]], [[HALF]]
// CHECK: dlc.write @scaler.scale, [[NEXT]]
// CHECK: [[COUNT:%.*]] = dlc.select [[FULL]], [[ZERO:%.*]], [[N]]
// CHECK: [[NEXTCOUNT:%.*]] = dlc.select [[FINITE]], [[COUNT]], [[ZERO]]
// CHECK: dlc.write @scaler.growth, [[NEXTCOUNT]]
// CHECK: [[OVERFLOW:%.*]] = dlc.not [[FINITE]]
// CHECK: [[FLAG:%.*]] = dlc.cast [[OVERFLOW]]
// CHECK: return {{.*}}, [[S]], [[FLAG]]

// A fixed scale stays.
// STATIC-NOT: dlc.write
// STATIC: dlc.all_finite
// STATIC-NOT: dlc.write
dlc.state @scaler.scale : tensor<f32> scaler init = 65536.0 : f32
dlc.state @a : tensor<2xf32> param init = "a" trainable
dlc.state @b : tensor<3xf32> param init = "b" trainable
func.func @train_step(%loss: tensor<f32>, %da: tensor<2xf32>, %db: tensor<3xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  %0 = dlc.all_reduce %da : (tensor<2xf32>) -> tensor<2xf32>
  dlc.gradient @a, %0 : tensor<2xf32>
  %1 = dlc.all_reduce %db : (tensor<3xf32>) -> tensor<3xf32>
  dlc.gradient @b, %1 : tensor<3xf32>
  return %loss : tensor<f32>
}
