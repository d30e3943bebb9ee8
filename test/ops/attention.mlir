// RUN: dlc-gradcheck %s
// Both layouts, every kind of mask, lengths that differ. Queries that see no key have no part in anything.

func.func @plain(%q: tensor<2x2x3x4xf64>, %k: tensor<2x2x5x4xf64>, %v: tensor<2x2x5x3xf64>) -> tensor<2x2x3x3xf64> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x2x3x4xf64>, tensor<2x2x5x4xf64>, tensor<2x2x5x3xf64>) -> (tensor<2x2x3x3xf64>, tensor<2x2x3x1xf64>)
  return %y : tensor<2x2x3x3xf64>
}

func.func @length_first(%q: tensor<2x3x2x4xf64>, %k: tensor<2x5x2x4xf64>, %v: tensor<2x5x2x3xf64>) -> tensor<2x3x2x3xf64> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.5 : f64, layout = "bthd"} : (tensor<2x3x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x3xf64>) -> (tensor<2x3x2x3xf64>, tensor<2x2x3x1xf64>)
  return %y : tensor<2x3x2x3xf64>
}

func.func @causal(%q: tensor<1x2x4x2xf64>, %k: tensor<1x2x4x2xf64>, %v: tensor<1x2x4x2xf64>) -> tensor<1x2x4x2xf64> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.7 : f64, causal} : (tensor<1x2x4x2xf64>, tensor<1x2x4x2xf64>, tensor<1x2x4x2xf64>) -> (tensor<1x2x4x2xf64>, tensor<1x2x4x1xf64>)
  return %y : tensor<1x2x4x2xf64>
}

func.func @causal_more_queries(%q: tensor<1x4x1x2xf64>, %k: tensor<1x2x1x2xf64>, %v: tensor<1x2x1x2xf64>) -> tensor<1x4x1x2xf64> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 1.0 : f64, causal, layout = "bthd"} : (tensor<1x4x1x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x2xf64>) -> (tensor<1x4x1x2xf64>, tensor<1x1x4x1xf64>)
  return %y : tensor<1x4x1x2xf64>
}

func.func @bias(%q: tensor<2x1x3x2xf64>, %k: tensor<2x1x3x2xf64>, %v: tensor<2x1x3x2xf64>) -> tensor<2x1x3x2xf64> {
  %m = dlc.constant dense<[[[[0.5, -1.0, 0.0], [0.25, 0.0, -2.0], [0.0, 1.0, 0.0]]]]> : tensor<1x1x3x3xf32>
  %y, %lse = dlc.attention %q, %k, %v, %m {scale = 1.5 : f64} : (tensor<2x1x3x2xf64>, tensor<2x1x3x2xf64>, tensor<2x1x3x2xf64>, tensor<1x1x3x3xf32>) -> (tensor<2x1x3x2xf64>, tensor<2x1x3x1xf64>)
  return %y : tensor<2x1x3x2xf64>
}

// The second query of the second row sees nothing.
func.func @mask(%q: tensor<2x1x2x2xf64>, %k: tensor<2x1x3x2xf64>, %v: tensor<2x1x3x2xf64>) -> tensor<2x1x2x2xf64> {
  %m = dlc.constant dense<[[[[true, false, true], [true, true, true]]], [[[false, true, true], [false, false, false]]]]> : tensor<2x1x2x3xi1>
  %y, %lse = dlc.attention %q, %k, %v, %m {scale = 0.5 : f64} : (tensor<2x1x2x2xf64>, tensor<2x1x3x2xf64>, tensor<2x1x3x2xf64>, tensor<2x1x2x3xi1>) -> (tensor<2x1x2x2xf64>, tensor<2x1x2x1xf64>)
  return %y : tensor<2x1x2x2xf64>
}

// Keys of a row, for all its queries; with bthd the mask stays that of the scores.
func.func @padding(%q: tensor<2x2x2x2xf64>, %k: tensor<2x3x2x2xf64>, %v: tensor<2x3x2x2xf64>) -> tensor<2x2x2x2xf64> {
  %m = dlc.constant dense<[[[[0.0, 0.0, 0.0]]], [[[0.0, 0.0, 0xFF800000]]]]> : tensor<2x1x1x3xf32>
  %y, %lse = dlc.attention %q, %k, %v, %m {scale = 0.5 : f64, layout = "bthd"} : (tensor<2x2x2x2xf64>, tensor<2x3x2x2xf64>, tensor<2x3x2x2xf64>, tensor<2x1x1x3xf32>) -> (tensor<2x2x2x2xf64>, tensor<2x2x2x1xf64>)
  return %y : tensor<2x2x2x2xf64>
}

func.func @half(%q: tensor<1x1x2x2xbf16>, %k: tensor<1x1x2x2xbf16>, %v: tensor<1x1x2x2xbf16>) -> tensor<1x1x2x2xbf16> {
  %y, %lse = dlc.attention %q, %k, %v {scale = 0.5 : f64, causal} : (tensor<1x1x2x2xbf16>, tensor<1x1x2x2xbf16>, tensor<1x1x2x2xbf16>) -> (tensor<1x1x2x2xbf16>, tensor<1x1x2x1xf32>)
  return %y : tensor<1x1x2x2xbf16>
}
