// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: tensor<2x4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<2x4x8x16xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected q, k and v of rank 4}}
  %y, %l = dlc.attention %q, %k, %v {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>, %k: tensor<2x3x8x16xf32>, %v: tensor<2x4x8x16xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) batch and heads of q, k and v differ}}
  %y, %l = dlc.attention %q, %k, %v {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x32xf32>, %v: tensor<2x4x8x16xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) q's and k's head dimension or k's and v's length differ}}
  %y, %l = dlc.attention %q, %k, %v {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x32xf32>, tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x4x8x7xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected a mask of floats or booleans for scores 2x4x8x8}}
  %y, %l = dlc.attention %q, %k, %v, %m {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x7xi1>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected operands of one element type}}
  %y, %l = dlc.attention %q, %k, %v {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf16>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C6) expected layout bhtd or bthd, found bhdt}}
  %y, %l = dlc.attention %q, %k, %v {causal, scale = 2.500000e-01 : f64, layout = "bhdt"} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x4x8x16xf32>, %q: tensor<2x4x8x16xf32>, %k: tensor<4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %y: tensor<2x4x8x16xf32>, %l: tensor<2x4x8x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected q, k and v of rank 4}}
  %dq, %dk, %dv = dlc.attention_backward %dy, %q, %k, %v, %y, %l {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>) -> (tensor<2x4x8x16xf32>, tensor<4x8x16xf32>, tensor<2x4x8x16xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x4x8x16xf32>, %q: tensor<2x4x8x16xf32>, %k: tensor<2x3x8x16xf32>, %v: tensor<2x4x8x16xf32>, %y: tensor<2x4x8x16xf32>, %l: tensor<2x4x8x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) batch and heads of q, k and v differ}}
  %dq, %dk, %dv = dlc.attention_backward %dy, %q, %k, %v, %y, %l {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x4x8x16xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x4x8x16xf32>, %q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x32xf32>, %v: tensor<2x4x8x16xf32>, %y: tensor<2x4x8x16xf32>, %l: tensor<2x4x8x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) q's and k's head dimension or k's and v's length differ}}
  %dq, %dk, %dv = dlc.attention_backward %dy, %q, %k, %v, %y, %l {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x32xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x32xf32>, tensor<2x4x8x16xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x4x8x16xf32>, %q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %y: tensor<2x4x8x16xf32>, %l: tensor<2x4x8x1xf32>, %m: tensor<2x4x8x7xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected a mask of floats or booleans for scores 2x4x8x8}}
  %dq, %dk, %dv = dlc.attention_backward %dy, %q, %k, %v, %y, %l, %m {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>, tensor<2x4x8x7xi1>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x4x8x16xf32>, %q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf16>, %y: tensor<2x4x8x16xf32>, %l: tensor<2x4x8x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected operands of one element type}}
  %dq, %dk, %dv = dlc.attention_backward %dy, %q, %k, %v, %y, %l {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf16>, tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf16>)
  return
}

// -----

func.func @f(%dy: tensor<2x4x8x16xf32>, %q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %y: tensor<2x4x8x16xf32>, %l: tensor<2x4x8x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C6) expected layout bhtd or bthd, found bhdt}}
  %dq, %dk, %dv = dlc.attention_backward %dy, %q, %k, %v, %y, %l {causal, scale = 2.500000e-01 : f64, layout = "bhdt"} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x1xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x4x8x16xf32>, %q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %y: tensor<2x4x8x16xf32>, %l: tensor<2x4x7x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C7) expected dy, y and lse of one attention}}
  %dq, %dk, %dv = dlc.attention_backward %dy, %q, %k, %v, %y, %l {causal, scale = 2.500000e-01 : f64} : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x7x1xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>)
  return
}
