// RUN: dlc-gradcheck %s
// 8-bit floats: gradients here are the decoded values, by OCP's tables of both formats.

// Ties go to the even code; 464 and infinity become the largest value, 448; subnormal values are multiples of 2^-9.
func.func @e4m3(%x: tensor<12xf64> {dlc.value = dense<[0.0, 1.0, 1.0625, 1.1875, -17.0, 448.0, 464.0, 1.0e9, 0.015, 0.0048828125, 0.0009765625, -0.0009775]> : tensor<12xf64>,
    dlc.gradient = dense<[0.0, 1.0, 1.0, 1.25, -16.0, 448.0, 448.0, 448.0, 0.015625, 0.00390625, 0.0, -0.001953125]> : tensor<12xf64>})
  -> (tensor<12xf64> {dlc.weight = dense<1.0> : tensor<12xf64>}) attributes {dlc.kink, dlc.f64_only} {
  %narrow = dlc.cast %x : (tensor<12xf64>) -> tensor<12xf32>
  %code = dlc.float8_encode %narrow {format = "e4m3"} : (tensor<12xf32>) -> tensor<12xi8>
  %value = dlc.float8_decode %code {format = "e4m3"} : (tensor<12xi8>) -> tensor<12xf32>
  %wide = dlc.cast %value : (tensor<12xf32>) -> tensor<12xf64>
  %y = dlc.mul %wide, %x : (tensor<12xf64>, tensor<12xf64>) -> tensor<12xf64>
  return %y : tensor<12xf64>
}

// Subnormal values are multiples of 2^-16; 61440, halfway to what would be the next value, becomes the largest, 57344.
func.func @e5m2(%x: tensor<10xf64> {dlc.value = dense<[0.0, -1.0, 1.125, 1.375, 5.0, 57344.0, -61440.0, 1.0e30, 0.00002, 0.000007]> : tensor<10xf64>,
    dlc.gradient = dense<[0.0, -1.0, 1.0, 1.5, 5.0, 57344.0, -57344.0, 57344.0, 1.52587890625e-05, 0.0]> : tensor<10xf64>})
  -> (tensor<10xf64> {dlc.weight = dense<1.0> : tensor<10xf64>}) attributes {dlc.kink, dlc.f64_only} {
  %narrow = dlc.cast %x : (tensor<10xf64>) -> tensor<10xf32>
  %code = dlc.float8_encode %narrow {format = "e5m2"} : (tensor<10xf32>) -> tensor<10xi8>
  %value = dlc.float8_decode %code {format = "e5m2"} : (tensor<10xi8>) -> tensor<10xf32>
  %wide = dlc.cast %value : (tensor<10xf32>) -> tensor<10xf64>
  %y = dlc.mul %wide, %x : (tensor<10xf64>, tensor<10xf64>) -> tensor<10xf64>
  return %y : tensor<10xf64>
}

// Codes 56, 60, 64 of E4M3 are 1, 1.5 and 2, of E5M2 0.5, 1 and 2; the gradient is 0.5 * 2 times the product, plus the bias.
// The decomposition is a product of bf16.
func.func @product(%x: tensor<1x2xf64> {dlc.value = dense<[[3.0, 1.0]]> : tensor<1x2xf64>,
    dlc.gradient = dense<[[4.75, 8.0]]> : tensor<1x2xf64>})
  -> (tensor<1x2xf64> {dlc.weight = dense<1.0> : tensor<1x2xf64>}) attributes {dlc.kink, dlc.f64_only} {
  %a = dlc.constant dense<[[56, 60, 64]]> : tensor<1x3xi8>
  %b = dlc.constant dense<[[56, 60, 64], [64, 64, 64]]> : tensor<2x3xi8>
  %s = dlc.constant dense<0.5> : tensor<f32>
  %t = dlc.constant dense<2.0> : tensor<f32>
  %c = dlc.constant dense<[-1.25, -1.0]> : tensor<2xbf16>
  %p = dlc.scaled_matmul %a, %b, %s, %t, %c {format_a = "e4m3", format_b = "e5m2"}
      : (tensor<1x3xi8>, tensor<2x3xi8>, tensor<f32>, tensor<f32>, tensor<2xbf16>) -> tensor<1x2xbf16>
  %wide = dlc.cast %p : (tensor<1x2xbf16>) -> tensor<1x2xf64>
  %y = dlc.mul %wide, %x : (tensor<1x2xf64>, tensor<1x2xf64>) -> tensor<1x2xf64>
  return %y : tensor<1x2xf64>
}
