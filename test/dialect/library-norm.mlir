// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @norm0(%x: tensor<1x8x8x4xf16>, %s: tensor<4xf32>) {
  %y, %m, %v = dlc.fused_batch_norm %x, %s, %s {epsilon = 1.0e-05 : f64, relu} : (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}
func.func @norm1(%x: tensor<1x8x8x4xf16>, %s: tensor<4xf32>, %r: tensor<1x8x8x4xf16>) {
  %y, %m, %v = dlc.fused_batch_norm %x, %s, %s, %r {epsilon = 1.0e-05 : f64, relu} : (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>, tensor<1x8x8x4xf16>) -> (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}
func.func @norm2(%dy: tensor<1x8x8x4xf16>, %x: tensor<1x8x8x4xf16>, %s: tensor<4xf32>) {
  %dx, %ds, %db = dlc.fused_batch_norm_backward %dy, %x, %s, %s, %s, %s : (tensor<1x8x8x4xf16>, tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}
func.func @norm3(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  %y, %m, %r = dlc.fused_layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}
func.func @norm4(%dy: tensor<2x3xf32>, %x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  %dx, %ds, %db = dlc.fused_layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
