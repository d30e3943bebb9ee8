// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @elementwise(%x: tensor<2x3xf32>, %b: tensor<3xf32>, %p: tensor<2x3xi1>) {
  %u0 = dlc.neg %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u1 = dlc.abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u2 = dlc.sign %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u3 = dlc.floor %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u4 = dlc.ceil %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u5 = dlc.round %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u6 = dlc.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u7 = dlc.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u8 = dlc.sqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u9 = dlc.rsqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u10 = dlc.reciprocal %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u11 = dlc.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u12 = dlc.sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u13 = dlc.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %stop = dlc.stop_gradient %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %scaled = dlc.scale_gradient %x {factor = 5.0e-1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u14 = dlc.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u15 = dlc.sin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u16 = dlc.cos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %atan = dlc.atan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u17 = dlc.softplus %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %u18 = dlc.gelu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %gelu = dlc.gelu %x {tanh} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %drelu = dlc.relu_backward %x, %u18 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %dgelu = dlc.gelu_backward %x, %u18 {tanh} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %b0 = dlc.add %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %b1 = dlc.sub %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %b2 = dlc.mul %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %b3 = dlc.div %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %b4 = dlc.pow %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %b5 = dlc.max %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %b6 = dlc.min %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %not = dlc.not %p : (tensor<2x3xi1>) -> tensor<2x3xi1>
  %and = dlc.and %p, %not : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %or = dlc.or %p, %and : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %finite = dlc.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %cast = dlc.cast %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %bits = dlc.bit_cast %x : (tensor<2x3xf32>) -> tensor<2x3xi32>
  %half = dlc.bit_cast %bits : (tensor<2x3xi32>) -> tensor<2x3xbf16>
  %less = dlc.compare lt %x, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %select = dlc.select %p, %x, %b : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %lerp = dlc.lerp %x, %x, %b : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %code = dlc.dynamic_encode %x {non_negative} : (tensor<2x3xf32>) -> tensor<2x3xi8>
  %value = dlc.dynamic_decode %code : (tensor<2x3xi8>) -> tensor<2x3xf32>
  return
}
