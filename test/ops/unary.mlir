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

// The gradient is the nearest value by the definition: the middle of a part of a decade, 0, or 1, which has no negative.
func.func @dynamic_map(%x: tensor<8xf64> {dlc.value = dense<[-0.5, 2.0e-7, 0.999, -0.999, 3.0e-5, 0.0, 1.0, 0.0105]> : tensor<8xf64>,
    dlc.gradient = dense<[-0.50078125, 0.0, 1.0, -0.99296875, 2.125e-05, 0.0, 1.0, 0.00971875]> : tensor<8xf64>})
  -> (tensor<8xf64> {dlc.weight = dense<1.0> : tensor<8xf64>}) attributes {dlc.kink, dlc.f64_only} {
  %code = dlc.dynamic_encode %x : (tensor<8xf64>) -> tensor<8xi8>
  %value = dlc.dynamic_decode %code : (tensor<8xi8>) -> tensor<8xf32>
  %wide = dlc.cast %value : (tensor<8xf32>) -> tensor<8xf64>
  %y = dlc.mul %wide, %x : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  return %y : tensor<8xf64>
}

func.func @dynamic_map_of_squares(%x: tensor<8xf64> {dlc.value = dense<[-0.5, 2.0e-7, 0.999, -0.999, 3.0e-5, 0.0, 1.0, 0.0105]> : tensor<8xf64>,
    dlc.gradient = dense<[0.0, 3.25e-07, 1.0, 0.0, 2.6875e-05, 0.0, 1.0, 0.010703125]> : tensor<8xf64>})
  -> (tensor<8xf64> {dlc.weight = dense<1.0> : tensor<8xf64>}) attributes {dlc.kink, dlc.f64_only} {
  %code = dlc.dynamic_encode %x {non_negative} : (tensor<8xf64>) -> tensor<8xi8>
  %value = dlc.dynamic_decode %code {non_negative} : (tensor<8xi8>) -> tensor<8xf32>
  %wide = dlc.cast %value : (tensor<8xf32>) -> tensor<8xf64>
  %y = dlc.mul %wide, %x : (tensor<8xf64>, tensor<8xf64>) -> tensor<8xf64>
  return %y : tensor<8xf64>
}
