// RUN: %dlc-opt %s --dlc-autodiff --split-input-file --verify-diagnostics

// All ops without a rule are named at once.
dlc.state @w : tensor<3xf32> param init = "w" trainable
// expected-error @below {{2 ops between the parameters and the loss have no gradient}}
func.func @train_step() -> tensor<f32> {
  %w = dlc.read @w : tensor<3xf32>
  // expected-note @below {{'dlc.lerp' here}}
  %l = dlc.lerp %w, %w, %w : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %column = dlc.reshape %l : (tensor<3xf32>) -> tensor<3x1xf32>
  // expected-note @below {{'dlc.orthogonalize' here}}
  %q = dlc.orthogonalize %column : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %loss = dlc.reduce_sum %q {axes = array<i64: 0, 1>} : (tensor<3x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

dlc.state @w : tensor<3xf32> param init = "w" trainable
// expected-error @below {{expected a scalar f32 loss as first result}}
func.func @train_step() -> tensor<3xf32> {
  %w = dlc.read @w : tensor<3xf32>
  return %w : tensor<3xf32>
}

// -----

// expected-error @below {{expected a function named @train_step}}
module {}

// -----

dlc.state @w : tensor<2x3xf32> param init = "w" trainable
func.func @train_step(%s: tensor<3xf32>) -> tensor<f32> {
  %w = dlc.read @w : tensor<2x3xf32>
  // expected-error @below {{has no gradient through its mean and rstd}}
  %y, %mean, %rstd = dlc.layer_norm %w, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  %loss = dlc.reduce_sum %mean {axes = array<i64: 0, 1>} : (tensor<2x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
