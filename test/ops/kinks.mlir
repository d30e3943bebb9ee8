// RUN: dlc-gradcheck %s
// Points without a derivative, where the convention is stated (passes/Gradients.h), and a gradient that is none on purpose.

func.func @relu_at_zero(%x: tensor<3xf64> {dlc.value = dense<[-1.0, 0.0, 1.0]> : tensor<3xf64>, dlc.gradient = dense<[0.0, 0.0, 1.0]> : tensor<3xf64>}) -> (tensor<3xf64> {dlc.weight = dense<1.0> : tensor<3xf64>}) attributes {dlc.kink} {
  %y = dlc.relu %x : (tensor<3xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @abs_at_zero(%x: tensor<3xf64> {dlc.value = dense<[-1.0, 0.0, 1.0]> : tensor<3xf64>, dlc.gradient = dense<[-1.0, 0.0, 1.0]> : tensor<3xf64>}) -> (tensor<3xf64> {dlc.weight = dense<1.0> : tensor<3xf64>}) attributes {dlc.kink} {
  %y = dlc.abs %x : (tensor<3xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @max_tie(%a: tensor<3xf64> {dlc.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>, dlc.gradient = dense<[0.0, 0.5, 1.0]> : tensor<3xf64>}, %b: tensor<3xf64> {dlc.value = dense<2.0> : tensor<3xf64>, dlc.gradient = dense<[1.0, 0.5, 0.0]> : tensor<3xf64>}) -> (tensor<3xf64> {dlc.weight = dense<1.0> : tensor<3xf64>}) attributes {dlc.kink} {
  %y = dlc.max %a, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @min_tie(%a: tensor<3xf64> {dlc.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>, dlc.gradient = dense<[1.0, 0.5, 0.0]> : tensor<3xf64>}, %b: tensor<3xf64> {dlc.value = dense<2.0> : tensor<3xf64>, dlc.gradient = dense<[0.0, 0.5, 1.0]> : tensor<3xf64>}) -> (tensor<3xf64> {dlc.weight = dense<1.0> : tensor<3xf64>}) attributes {dlc.kink} {
  %y = dlc.min %a, %b : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @reduce_max_tie(%x: tensor<2x3xf64> {dlc.value = dense<[[1.0, 2.0, 2.0], [3.0, 1.0, 1.0]]> : tensor<2x3xf64>, dlc.gradient = dense<[[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]> : tensor<2x3xf64>}) -> (tensor<2xf64> {dlc.weight = dense<1.0> : tensor<2xf64>}) attributes {dlc.kink} {
  %y = dlc.reduce_max %x {axes = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @reduce_min_tie(%x: tensor<2x3xf64> {dlc.value = dense<[[1.0, 2.0, 2.0], [3.0, 1.0, 1.0]]> : tensor<2x3xf64>, dlc.gradient = dense<[[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]> : tensor<2x3xf64>}) -> (tensor<2xf64> {dlc.weight = dense<1.0> : tensor<2xf64>}) attributes {dlc.kink} {
  %y = dlc.reduce_min %x {axes = array<i64: 1>} : (tensor<2x3xf64>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @max_pool_tie(%x: tensor<1x1x1x3xf64> {dlc.value = dense<2.0> : tensor<1x1x1x3xf64>, dlc.gradient = dense<[[[[1.0, 1.0, 0.0]]]]> : tensor<1x1x1x3xf64>}) -> (tensor<1x1x1x2xf64> {dlc.weight = dense<1.0> : tensor<1x1x1x2xf64>}) attributes {dlc.kink} {
  %y, %i = dlc.max_pool %x {kernel = array<i64: 1, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x1x3xf64>) -> (tensor<1x1x1x2xf64>, tensor<1x1x1x2xi8>)
  return %y : tensor<1x1x1x2xf64>
}

func.func @pow_at_zero(%a: tensor<2xf64> {dlc.value = dense<0.0> : tensor<2xf64>, dlc.gradient = dense<[0.0, 0.0]> : tensor<2xf64>}, %b: tensor<2xf64> {dlc.value = dense<[2.0, 0.0]> : tensor<2xf64>, dlc.gradient = dense<0.0> : tensor<2xf64>}) -> (tensor<2xf64> {dlc.weight = dense<1.0> : tensor<2xf64>}) attributes {dlc.kink} {
  %y = dlc.pow %a, %b : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @stop_gradient(%x: tensor<3xf64> {dlc.value = dense<[-1.0, 0.5, 3.0]> : tensor<3xf64>, dlc.gradient = dense<[-1.0, 0.5, 3.0]> : tensor<3xf64>}) -> (tensor<3xf64> {dlc.weight = dense<1.0> : tensor<3xf64>}) attributes {dlc.kink} {
  %s = dlc.stop_gradient %x : (tensor<3xf64>) -> tensor<3xf64>
  %y = dlc.mul %s, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @scale_gradient(%x: tensor<3xf64> {dlc.value = dense<[-1.0, 0.5, 3.0]> : tensor<3xf64>, dlc.gradient = dense<[-0.25, 0.125, 0.75]> : tensor<3xf64>}) -> (tensor<3xf64> {dlc.weight = dense<1.0> : tensor<3xf64>}) attributes {dlc.kink} {
  %a = dlc.scale_gradient %x {factor = -0.75} : (tensor<3xf64>) -> tensor<3xf64>
  %y = dlc.mul %a, %x : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}
