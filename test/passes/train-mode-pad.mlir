// RUN: %dlc-opt %s --dlc-train-mode=last-batch=pad --verify-diagnostics

// Statistics would be of what fills up a batch, too.
dlc.state @mean : tensor<3xf32> buffer init = "mean"
func.func @train_step(%x: tensor<4x3xf32>, %s: tensor<3xf32>) -> tensor<4x3xf32> {
  %m = dlc.read @mean : tensor<3xf32>
  // expected-error @+1 {{batch norm in training is by all samples of a batch, also those that would fill up the last one (--last-batch=pad); compile with --last-batch=drop}}
  %0 = dlc.batch_norm_infer %x, %s, %s, %m, %m {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
