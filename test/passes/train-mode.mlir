// RUN: %dlc-opt %s --split-input-file --dlc-train-mode --verify-diagnostics | FileCheck %s
// RUN: not %dlc-opt %s --split-input-file --dlc-train-mode=bn-variance=population 2>/dev/null | FileCheck %s --check-prefix=ONNX

// Batch norm normalises by the batch; the running statistics are written once, after the second use of the layer.
// CHECK: @train_step
// CHECK: [[M:%.*]] = dlc.read @mean
// CHECK: [[V:%.*]] = dlc.read @var
// CHECK: [[Y:%.*]], [[M1:%.*]], [[V1:%.*]], {{.*}}, {{.*}} = dlc.batch_norm {{.*}}, [[M]], [[V]] {epsilon = 1.000000e-05 : f64, momentum = 9.000000e-01 : f64, unbiased}
// CHECK: {{.*}}, [[M2:%.*]], [[V2:%.*]], {{.*}}, {{.*}} = dlc.batch_norm [[Y]], {{.*}}, [[M1]], [[V1]]
// CHECK: dlc.write @mean, [[M2]]
// CHECK: dlc.write @var, [[V2]]
// CHECK-NOT: dlc.write
// CHECK: return
// CHECK: @eval_step
// CHECK: dlc.batch_norm_infer
// ONNX-NOT: unbiased
dlc.state @scale : tensor<3xf32> param init = "scale" trainable
dlc.state @mean : tensor<3xf32> buffer init = "mean"
dlc.state @var : tensor<3xf32> buffer init = "var"
func.func @train_step(%x: tensor<4x3x2x2xf32>) -> tensor<4x3x2x2xf32> {
  %s = dlc.read @scale : tensor<3xf32>
  %m = dlc.read @mean : tensor<3xf32>
  %v = dlc.read @var : tensor<3xf32>
  %0 = dlc.batch_norm_infer %x, %s, %s, %m, %v {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3x2x2xf32>
  %1 = dlc.batch_norm_infer %0, %s, %s, %m, %v {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3x2x2xf32>
  return %1 : tensor<4x3x2x2xf32>
}
func.func @eval_step(%x: tensor<4x3x2x2xf32>, %s: tensor<3xf32>) -> tensor<4x3x2x2xf32> {
  %0 = dlc.batch_norm_infer %x, %s, %s, %s, %s {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3x2x2xf32>
  return %0 : tensor<4x3x2x2xf32>
}

// -----

func.func @train_step(%x: tensor<4x3x2x2xf32>, %s: tensor<3xf32>) -> tensor<4x3x2x2xf32> {
  // expected-error @+1 {{expected the running mean to be a buffer of the model}}
  %0 = dlc.batch_norm_infer %x, %s, %s, %s, %s {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3x2x2xf32>
  return %0 : tensor<4x3x2x2xf32>
}

// -----

dlc.state @mean : tensor<3xf32> buffer init = "mean"
func.func @train_step(%x: tensor<1x3xf32>, %s: tensor<3xf32>) -> tensor<1x3xf32> {
  %m = dlc.read @mean : tensor<3xf32>
  // expected-error @+1 {{batch norm over one value per channel has no variance; use a larger batch}}
  %0 = dlc.batch_norm_infer %x, %s, %s, %m, %m {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}
