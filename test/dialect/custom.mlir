// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @custom0(%x: tensor<2x3xf32>) {
  %y = dlc.custom %x {library = "ops.liba.so", domain = "a", op = "Twist", arguments = "{\22rate\22:[2]}", differentiable} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %dx = dlc.custom %x, %y, %y {library = "ops.liba.so", domain = "a", op = "Twist", arguments = "{}", backward} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
func.func @custom1(%x: tensor<2xi64>) {
  %a, %b = dlc.custom %x {library = "ops.liba.so", domain = "a", op = "Two", arguments = "{}"} : (tensor<2xi64>) -> (tensor<f16>, tensor<4xi1>)
  return
}
