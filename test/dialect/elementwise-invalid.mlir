// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected operands of one element type, found 'f32' and 'f16'}}
  %z = dlc.add %x, %y : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) shapes 2 and 3 do not broadcast}}
  %z = dlc.mul %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expected operand and result of one shape}}
  %z = dlc.cast %x : (tensor<2xf32>) -> tensor<3xf16>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expected operand and result of one shape}}
  %z = dlc.bit_cast %x : (tensor<2xf32>) -> tensor<3xi32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C2) expected i64 beside f64, or i32 beside another float, found 'f32' and 'i64'}}
  %z = dlc.bit_cast %x : (tensor<2xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @f(%p: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected operands of one element type, found 'f32' and 'f64'}}
  %z = dlc.select %p, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%p: tensor<4xi1>, %x: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) shapes 4 and 2 do not broadcast}}
  %z = dlc.select %p, %x, %x : (tensor<4xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) shapes 2 and 3 do not broadcast}}
  %z = dlc.compare eq %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %y: tensor<2xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected operands of one element type}}
  %z = dlc.compare eq %x, %y : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected type 'tensor<2xf32>', found 'tensor<2xf16>'}}
  %z = dlc.relu_backward %x, %y : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}
