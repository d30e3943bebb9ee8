// RUN: %dlc-opt %s --dlc-scale-loss | FileCheck %s --check-prefix=NONE
// RUN: %dlc-opt %s --dlc-scale-loss=loss-scale=dynamic | FileCheck %s --check-prefix=DYNAMIC
// RUN: %dlc-opt %s --dlc-scale-loss=loss-scale=128 | FileCheck %s --check-prefix=STATIC
// RUN: %dlc-opt %s --dlc-scale-loss=accumulate=4 | FileCheck %s --check-prefix=PART
// RUN: %dlc-opt %s --dlc-scale-loss="loss-scale=dynamic accumulate=4" | FileCheck %s --check-prefix=SCALEDPART
// RUN: not %dlc-opt %s --dlc-scale-loss=loss-scale=big 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %dlc-opt %s --dlc-scale-loss=loss-scale=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// NONE-NOT: dlc.state @scaler
// NONE: [[ONE:%.*]] = dlc.constant dense<1.000000e+00> : tensor<f32>
// NONE: dlc.gradient @w, [[ONE]]

// DYNAMIC: dlc.state @scaler.scale : tensor<f32> scaler init = 6.553600e+04 : f32
// DYNAMIC: [[SCALE:%.*]] = dlc.read @scaler.scale
// DYNAMIC: dlc.gradient @w, [[SCALE]]

// STATIC: dlc.state @scaler.scale : tensor<f32> scaler init = 1.280000e+02 : f32

// PART-DAG: [[ONE:%.*]] = dlc.constant dense<1.000000e+00>
// PART-DAG: [[SHARE:%.*]] = dlc.constant dense<2.500000e-01>
// PART: [[START:%.*]] = dlc.mul [[ONE]], [[SHARE]]
// PART: dlc.gradient @w, [[START]]

// SCALEDPART: [[SCALE:%.*]] = dlc.read @scaler.scale
// SCALEDPART: [[START:%.*]] = dlc.mul [[SCALE]], {{%.*}}
// SCALEDPART: dlc.gradient @w, [[START]]

// UNKNOWN: loss-scale: expected auto, none, dynamic or a number above 0, found 'big'
// NEGATIVE: loss-scale: expected auto, none, dynamic or a number above 0, found '-1'
dlc.state @w : tensor<f32> param init = "w" trainable
func.func @train_step() -> (tensor<f32> {dlc.name = "loss"}) {
  %w = dlc.read @w : tensor<f32>
  %seed = dlc.seed : tensor<f32>
  dlc.gradient @w, %seed : tensor<f32>
  return %w : tensor<f32>
}
