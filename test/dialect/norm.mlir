// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @norm0(%x: tensor<1x4x8x8xf32>, %s: tensor<4xf32>) {
  %y, %m, %v, %a, %b = dlc.batch_norm %x, %s, %s, %s, %s by = library {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64} : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
func.func @norm1(%dy: tensor<1x4x8x8xf32>, %x: tensor<1x4x8x8xf32>, %s: tensor<4xf32>) {
  %dx, %ds, %db = dlc.batch_norm_backward %dy, %x, %s, %s, %s {epsilon = 1.0e-05 : f64} : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
func.func @norm2(%x: tensor<1x4x8x8xf32>, %s: tensor<4xf32>) {
  %y = dlc.batch_norm_infer %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64} : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  return
}
func.func @norm3(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  %y, %m, %r = dlc.layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}
func.func @norm4(%dy: tensor<2x3xf32>, %x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  %dx, %ds, %db = dlc.layer_norm_backward %dy, %x, %s, %m, %m by = decomposed {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
func.func @norm5(%x: tensor<2x3xf32>) {
  %y = dlc.softmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
func.func @norm6(%x: tensor<2x3xf32>) {
  %y = dlc.log_softmax %x {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
func.func @norm7(%dy: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  %dx = dlc.softmax_backward %dy, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
func.func @norm8(%dy: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  %dx = dlc.log_softmax_backward %dy, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
