// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2x3xf16>, %b: tensor<1x3x4xf16>) {
  // expected-error @+1 {{(C1) expected one product of matrices}}
  %y, %k = dlc.matmul_activation %a, %b {activation = "gelu_tanh"} : (tensor<2x3xf16>, tensor<1x3x4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>)
  return
}

// -----

func.func @f(%a: tensor<2x3xf16>, %b: tensor<5x4xf16>) {
  // expected-error @+1 {{(C2) contracted sizes differ}}
  %y, %k = dlc.matmul_activation %a, %b {activation = "gelu_tanh"} : (tensor<2x3xf16>, tensor<5x4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>)
  return
}

// -----

func.func @f(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>) {
  // expected-error @+1 {{(C3) expected shape 2x4, found 'tensor<2x5xf16>'}}
  %y, %k = dlc.matmul_activation %a, %b {activation = "gelu_tanh"} : (tensor<2x3xf16>, tensor<3x4xf16>) -> (tensor<2x5xf16>, tensor<2x5xf16>)
  return
}

// -----

func.func @f(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>, %c: tensor<3xf16>) {
  // expected-error @+1 {{(C4) expected shape}}
  %y, %k = dlc.matmul_activation %a, %b, %c {activation = "gelu_tanh"} : (tensor<2x3xf16>, tensor<3x4xf16>, tensor<3xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>)
  return
}

// -----

func.func @f(%a: tensor<2x3xf16>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{(C5) expected operands of one element type}}
  %y, %k = dlc.matmul_activation %a, %b {activation = "gelu_tanh"} : (tensor<2x3xf16>, tensor<3x4xf32>) -> (tensor<2x4xf16>, tensor<2x4xf16>)
  return
}

// -----

func.func @f(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>) {
  // expected-error @+1 {{(C6) expected activation gelu_tanh, found tanh}}
  %y, %k = dlc.matmul_activation %a, %b {activation = "tanh"} : (tensor<2x3xf16>, tensor<3x4xf16>) -> (tensor<2x4xf16>, tensor<2x4xf16>)
  return
}

// -----

func.func @f(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>) {
  // expected-error @+1 {{(C7) expected `kept` of type 'tensor<2x4xf16>'}}
  %y, %k = dlc.matmul_activation %a, %b {activation = "gelu_tanh"} : (tensor<2x3xf16>, tensor<3x4xf16>) -> (tensor<2x4xf16>, tensor<2x3xf16>)
  return
}

// -----

func.func @f(%a: tensor<3x2xf16>, %b: tensor<1x3x4xf16>) {
  // expected-error @+1 {{(C1) expected one product of matrices}}
  %y, %d = dlc.matmul_bias_backward %a, %b {of = "a", trans_a} : (tensor<3x2xf16>, tensor<1x3x4xf16>) -> (tensor<2x4xf16>, tensor<2xf16>)
  return
}

// -----

func.func @f(%a: tensor<3x2xf16>, %b: tensor<5x4xf16>) {
  // expected-error @+1 {{(C2) contracted sizes differ}}
  %y, %d = dlc.matmul_bias_backward %a, %b {of = "a", trans_a} : (tensor<3x2xf16>, tensor<5x4xf16>) -> (tensor<2x4xf16>, tensor<2xf16>)
  return
}

// -----

func.func @f(%a: tensor<3x2xf16>, %b: tensor<3x4xf16>) {
  // expected-error @+1 {{(C3) expected shape 2x4, found 'tensor<2x5xf16>'}}
  %y, %d = dlc.matmul_bias_backward %a, %b {of = "a", trans_a} : (tensor<3x2xf16>, tensor<3x4xf16>) -> (tensor<2x5xf16>, tensor<2xf16>)
  return
}

// -----

func.func @f(%a: tensor<3x2xf16>, %b: tensor<3x4xf16>) {
  // expected-error @+1 {{(C4) expected shape}}
  %y, %d = dlc.matmul_bias_backward %a, %b {of = "a", trans_a} : (tensor<3x2xf16>, tensor<3x4xf16>) -> (tensor<2x4xf16>, tensor<3xf16>)
  return
}

// -----

func.func @f(%a: tensor<3x2xf16>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{(C5) expected operands of one element type}}
  %y, %d = dlc.matmul_bias_backward %a, %b {of = "a", trans_a} : (tensor<3x2xf16>, tensor<3x4xf32>) -> (tensor<2x4xf16>, tensor<2xf16>)
  return
}

// -----

func.func @f(%a: tensor<3x2xf16>, %b: tensor<4x3xf16>) {
  // expected-error @+1 {{(C6) expected `of` to be a, transposed, or b, which is not, found b}}
  %y, %d = dlc.matmul_bias_backward %a, %b {of = "b", trans_a, trans_b} : (tensor<3x2xf16>, tensor<4x3xf16>) -> (tensor<2x4xf16>, tensor<2xf16>)
  return
}

// -----

func.func @f(%a: tensor<5x2x3xf16>, %b: tensor<3x4xf16>) {
  // expected-error @+1 {{(C7) expected a of rank 2}}
  %y, %d = dlc.matmul_bias_backward %a, %b {of = "b"} : (tensor<5x2x3xf16>, tensor<3x4xf16>) -> (tensor<5x2x4xf16>, tensor<4xf16>)
  return
}
