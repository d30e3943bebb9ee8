// RUN: dlc-gradcheck %s
// Elementwise ops of one operand. A step adds its operand, since autodiff refuses a loss that no gradient leaves.

func.func @neg(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.neg %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @abs(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.abs %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @sign(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %s = dlc.sign %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %y = dlc.add %s, %x : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @floor(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %s = dlc.floor %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %y = dlc.add %s, %x : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @ceil(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %s = dlc.ceil %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %y = dlc.add %s, %x : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @round(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %s = dlc.round %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %y = dlc.add %s, %x : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @exp(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.exp %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @tanh(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.tanh %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @atan(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.atan %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @sigmoid(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.sigmoid %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @relu(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.relu %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @erf(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.erf %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @sin(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.sin %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @cos(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.cos %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @softplus(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.softplus %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @gelu(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.gelu %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @log(%x: tensor<2x3xf64> {dlc.range = [0.5, 3.0]}) -> tensor<2x3xf64> {
  %y = dlc.log %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @sqrt(%x: tensor<2x3xf64> {dlc.range = [0.5, 3.0]}) -> tensor<2x3xf64> {
  %y = dlc.sqrt %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @rsqrt(%x: tensor<2x3xf64> {dlc.range = [0.5, 3.0]}) -> tensor<2x3xf64> {
  %y = dlc.rsqrt %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @reciprocal(%x: tensor<2x3xf64> {dlc.range = [0.5, 3.0]}) -> tensor<2x3xf64> {
  %y = dlc.reciprocal %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @gelu_tanh(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %y = dlc.gelu %x {tanh} : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @softplus_far(%x: tensor<2x3xf64> {dlc.range = [-40.0, 40.0]}) -> tensor<2x3xf64> {
  %y = dlc.softplus %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @scalar(%x: tensor<f64>) -> tensor<f64> {
  %y = dlc.tanh %x : (tensor<f64>) -> tensor<f64>
  return %y : tensor<f64>
}

func.func @tanh_bf16(%x: tensor<2x3xbf16> {dlc.range = [0.5, 2.0]}) -> tensor<2x3xbf16> {
  %y = dlc.tanh %x : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return %y : tensor<2x3xbf16>
}

func.func @gelu_bf16(%x: tensor<2x3xbf16> {dlc.range = [0.5, 2.0]}) -> tensor<2x3xbf16> {
  %y = dlc.gelu %x : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return %y : tensor<2x3xbf16>
}

func.func @rsqrt_bf16(%x: tensor<2x3xbf16> {dlc.range = [0.5, 2.0]}) -> tensor<2x3xbf16> {
  %y = dlc.rsqrt %x : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return %y : tensor<2x3xbf16>
}

// the gradient comes back in the operand's type
func.func @cast_down(%x: tensor<2x3xf64>) -> tensor<2x3xbf16> {
  %y = dlc.cast %x : (tensor<2x3xf64>) -> tensor<2x3xbf16>
  return %y : tensor<2x3xbf16>
}

// nothing flows through an integer
func.func @through_integers(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %i = dlc.cast %x : (tensor<2x3xf64>) -> tensor<2x3xi32>
  %f = dlc.cast %i : (tensor<2x3xi32>) -> tensor<2x3xf64>
  %y = dlc.mul %f, %x : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

// its sign alone
func.func @bit_cast_gate(%x: tensor<2x3xf64>) -> tensor<2x3xf64> attributes {dlc.f64_only} {
  %i = dlc.bit_cast %x : (tensor<2x3xf64>) -> tensor<2x3xi64>
  %zero = dlc.constant dense<0> : tensor<i64>
  %c = dlc.compare lt %i, %zero : (tensor<2x3xi64>, tensor<i64>) -> tensor<2x3xi1>
  %n = dlc.neg %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %y = dlc.select %c, %n, %x : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @is_finite_gate(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %c = dlc.is_finite %x : (tensor<2x3xf64>) -> tensor<2x3xi1>
  %n = dlc.neg %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %y = dlc.select %c, %x, %n : (tensor<2x3xi1>, tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}
