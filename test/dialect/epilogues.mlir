// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @product0(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>, %c: tensor<4xf16>) {
  %y, %k = dlc.matmul_activation %a, %b, %c {activation = "gelu_tanh"} : (tensor<2x3xf16>, tensor<3x4xf16>, tensor<4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>)
  return
}
func.func @product4(%a: tensor<3x2xf16>, %b: tensor<3x4xf16>) {
  %y, %d = dlc.matmul_bias_backward %a, %b {of = "a", trans_a} : (tensor<3x2xf16>, tensor<3x4xf16>) -> (tensor<2x4xf16>, tensor<2xf16>)
  return
}
func.func @product5(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>) {
  %y, %d = dlc.matmul_bias_backward %a, %b {of = "b"} : (tensor<2x3xf16>, tensor<3x4xf16>) -> (tensor<2x4xf16>, tensor<4xf16>)
  return
}
