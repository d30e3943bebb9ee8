// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

dlc.state @w : tensor<2x3xf32> param init = "w" trainable
dlc.state @w.m : tensor<2x3xf32> moment init = 0.000000e+00 : f32 of = @w
dlc.state @w.error : tensor<2x3xf32> error init = 0.000000e+00 : f32 of = @w
dlc.state @w.factor : tensor<3x1xf32> factor init = 0.000000e+00 : f32 of = @w
func.func @step(%thin: tensor<4x2xf32>, %updates: tensor<4x3xf32>, %rows: tensor<4xi64>) -> tensor<f32> {
  %w = dlc.read @w : tensor<2x3xf32>
  %seed = dlc.seed : tensor<f32>
  %mean = dlc.all_reduce %w {bucket = 0 : i64, of = @w} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sent = dlc.all_reduce %w {bucket = 0 : i64, error = @w.error, factor = @w.factor} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %finite = dlc.all_finite %w, %mean : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<i1>
  %norm = dlc.global_norm %w, %mean by = library : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %within = dlc.global_norm %w {limit = 5.000000e-01 : f64} : (tensor<2x3xf32>) -> tensor<f32>
  %q = dlc.orthogonalize %thin : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %fused = dlc.fused(%w) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
  ^bb0(%x: tensor<2x3xf32>):
    %y = dlc.neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    dlc.yield %y : tensor<2x3xf32>
  }
  dlc.gradient @w, %mean : tensor<2x3xf32>
  dlc.gradient @w, %updates at %rows : tensor<4x3xf32>, tensor<4xi64>
  dlc.write @w, %fused : tensor<2x3xf32>
  dlc.write @w.m, %mean : tensor<2x3xf32>
  return %norm : tensor<f32>
}
// Another function may write them again.
func.func @other(%x: tensor<2x3xf32>) {
  dlc.write @w, %x : tensor<2x3xf32>
  return
}
func.func @loss0(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  %y, %l = dlc.softmax_cross_entropy %x, %i {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}
func.func @loss1(%d: tensor<2xf32>, %x: tensor<2x3xf32>, %i: tensor<2xi64>, %l: tensor<2xf32>) {
  %dx = dlc.softmax_cross_entropy_backward %d, %x, %i, %l : (tensor<2xf32>, tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}
