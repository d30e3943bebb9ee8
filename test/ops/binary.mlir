// RUN: dlc-gradcheck %s
// Elementwise ops of several operands, with every kind of broadcasting.

func.func @add(%a: tensor<2x3xf64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.add %a, %b : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @add_row(%a: tensor<2x3xf64>, %b: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = dlc.add %a, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @add_outer(%a: tensor<2x1x3xf64>, %b: tensor<4x1xf64>) -> tensor<2x4x3xf64> {
  %y = dlc.add %a, %b : (tensor<2x1x3xf64>, tensor<4x1xf64>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @add_scalar(%a: tensor<f64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.add %a, %b : (tensor<f64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @sub(%a: tensor<2x3xf64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.sub %a, %b : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @sub_row(%a: tensor<2x3xf64>, %b: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = dlc.sub %a, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @sub_outer(%a: tensor<2x1x3xf64>, %b: tensor<4x1xf64>) -> tensor<2x4x3xf64> {
  %y = dlc.sub %a, %b : (tensor<2x1x3xf64>, tensor<4x1xf64>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @sub_scalar(%a: tensor<f64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.sub %a, %b : (tensor<f64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @mul(%a: tensor<2x3xf64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.mul %a, %b : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @mul_row(%a: tensor<2x3xf64>, %b: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = dlc.mul %a, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @mul_outer(%a: tensor<2x1x3xf64>, %b: tensor<4x1xf64>) -> tensor<2x4x3xf64> {
  %y = dlc.mul %a, %b : (tensor<2x1x3xf64>, tensor<4x1xf64>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @mul_scalar(%a: tensor<f64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.mul %a, %b : (tensor<f64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @div(%a: tensor<2x3xf64>, %b: tensor<2x3xf64> {dlc.range = [0.5, 2.0]}) -> tensor<2x3xf64> {
  %y = dlc.div %a, %b : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @div_row(%a: tensor<2x3xf64>, %b: tensor<3xf64> {dlc.range = [0.5, 2.0]}) -> tensor<2x3xf64> {
  %y = dlc.div %a, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @div_outer(%a: tensor<2x1x3xf64>, %b: tensor<4x1xf64> {dlc.range = [0.5, 2.0]}) -> tensor<2x4x3xf64> {
  %y = dlc.div %a, %b : (tensor<2x1x3xf64>, tensor<4x1xf64>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @div_scalar(%a: tensor<f64>, %b: tensor<2x3xf64> {dlc.range = [0.5, 2.0]}) -> tensor<2x3xf64> {
  %y = dlc.div %a, %b : (tensor<f64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @pow(%a: tensor<2x3xf64> {dlc.range = [0.5, 2.0]}, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.pow %a, %b : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @pow_row(%a: tensor<2x3xf64> {dlc.range = [0.5, 2.0]}, %b: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = dlc.pow %a, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @pow_outer(%a: tensor<2x1x3xf64> {dlc.range = [0.5, 2.0]}, %b: tensor<4x1xf64>) -> tensor<2x4x3xf64> {
  %y = dlc.pow %a, %b : (tensor<2x1x3xf64>, tensor<4x1xf64>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @pow_scalar(%a: tensor<f64> {dlc.range = [0.5, 2.0]}, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.pow %a, %b : (tensor<f64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @max(%a: tensor<2x3xf64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.max %a, %b : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @max_row(%a: tensor<2x3xf64>, %b: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = dlc.max %a, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @max_outer(%a: tensor<2x1x3xf64>, %b: tensor<4x1xf64>) -> tensor<2x4x3xf64> {
  %y = dlc.max %a, %b : (tensor<2x1x3xf64>, tensor<4x1xf64>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @max_scalar(%a: tensor<f64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.max %a, %b : (tensor<f64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @min(%a: tensor<2x3xf64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.min %a, %b : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @min_row(%a: tensor<2x3xf64>, %b: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = dlc.min %a, %b : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @min_outer(%a: tensor<2x1x3xf64>, %b: tensor<4x1xf64>) -> tensor<2x4x3xf64> {
  %y = dlc.min %a, %b : (tensor<2x1x3xf64>, tensor<4x1xf64>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @min_scalar(%a: tensor<f64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.min %a, %b : (tensor<f64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @mul_ones(%a: tensor<1x1xf64>, %b: tensor<1xf64>) -> tensor<1x1xf64> {
  %y = dlc.mul %a, %b : (tensor<1x1xf64>, tensor<1xf64>) -> tensor<1x1xf64>
  return %y : tensor<1x1xf64>
}

func.func @div_bf16(%a: tensor<2x3xbf16>, %b: tensor<3xbf16> {dlc.range = [0.5, 2.0]}) -> tensor<2x3xbf16> {
  %y = dlc.div %a, %b : (tensor<2x3xbf16>, tensor<3xbf16>) -> tensor<2x3xbf16>
  return %y : tensor<2x3xbf16>
}

func.func @power_0_0(%x: tensor<2x3xf64> {dlc.range = [-2.0, -0.5]}) -> tensor<2x3xf64> {
  %c = dlc.constant dense<0.0> : tensor<f64>
  %y = dlc.pow %x, %c : (tensor<2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @power_1_0(%x: tensor<2x3xf64> {dlc.range = [-2.0, -0.5]}) -> tensor<2x3xf64> {
  %c = dlc.constant dense<1.0> : tensor<f64>
  %y = dlc.pow %x, %c : (tensor<2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @power_2_0(%x: tensor<2x3xf64> {dlc.range = [-2.0, -0.5]}) -> tensor<2x3xf64> {
  %c = dlc.constant dense<2.0> : tensor<f64>
  %y = dlc.pow %x, %c : (tensor<2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @power_3_0(%x: tensor<2x3xf64> {dlc.range = [-2.0, -0.5]}) -> tensor<2x3xf64> {
  %c = dlc.constant dense<3.0> : tensor<f64>
  %y = dlc.pow %x, %c : (tensor<2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @power_0_5(%x: tensor<2x3xf64> {dlc.range = [0.5, 2.0]}) -> tensor<2x3xf64> {
  %c = dlc.constant dense<0.5> : tensor<f64>
  %y = dlc.pow %x, %c : (tensor<2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @power_m1_0(%x: tensor<2x3xf64> {dlc.range = [-2.0, -0.5]}) -> tensor<2x3xf64> {
  %c = dlc.constant dense<-1.0> : tensor<f64>
  %y = dlc.pow %x, %c : (tensor<2x3xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

// one value as both operands
func.func @pow_square_twice(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.mul %x, %x : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @select(%c: tensor<2x3xi1>, %a: tensor<2x3xf64>, %b: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.select %c, %a, %b : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @select_broadcast(%c: tensor<2x1xi1>, %a: tensor<3xf64>, %b: tensor<f64>) -> tensor<2x3xf64> {
  %y = dlc.select %c, %a, %b : (tensor<2x1xi1>, tensor<3xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @clip(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %lo = dlc.constant dense<-1.0> : tensor<f64>
  %hi = dlc.constant dense<1.0> : tensor<f64>
  %l = dlc.max %x, %lo : (tensor<3x4xf64>, tensor<f64>) -> tensor<3x4xf64>
  %y = dlc.min %l, %hi : (tensor<3x4xf64>, tensor<f64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}
