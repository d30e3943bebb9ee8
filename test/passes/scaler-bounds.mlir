// RUN: %dlc-opt %s --dlc-unscale="loss-scale=dynamic loss-scale-min=4 loss-scale-max=64 loss-scale-hysteresis=3" | FileCheck %s
// RUN: %dlc-opt %s --dlc-unscale="loss-scale=dynamic" | FileCheck %s --check-prefix=TORCH

// CHECK: dlc.state @scaler.hysteresis : tensor<i32> scaler init = 3
// CHECK-DAG: [[SCALE:%.*]] = dlc.read @scaler.scale
// CHECK: [[FINITE:%.*]] = dlc.all_finite
// CHECK-DAG: [[CEILING:%.*]] = dlc.constant dense<6.400000e+01>
// CHECK-DAG: dlc.min {{.*}}, [[CEILING]]
// CHECK-DAG: [[FLOOR:%.*]] = dlc.constant dense<4.000000e+00>
// CHECK-DAG: [[SMALLER:%.*]] = dlc.max {{.*}}, [[FLOOR]]
// CHECK-DAG: [[LEFT:%.*]] = dlc.read @scaler.hysteresis
// CHECK: dlc.write @scaler.hysteresis
// CHECK: [[USED:%.*]] = dlc.compare {{.*}}[[LEFT]]
// CHECK: dlc.select [[USED]], [[SMALLER]], [[SCALE]]
// CHECK: dlc.write @scaler.scale

// What is not asked for leaves no trace.
// TORCH-NOT: hysteresis
// TORCH-NOT: dlc.min
// TORCH-NOT: dlc.max
// TORCH: dlc.write @scaler.scale
dlc.state @w : tensor<2xf32> param init = "w" trainable
dlc.state @scaler.scale : tensor<f32> scaler init = 6.553600e+04 : f32
func.func @train_step(%loss: tensor<f32>, %g: tensor<2xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @w, %g : tensor<2xf32>
  return %loss : tensor<f32>
}
