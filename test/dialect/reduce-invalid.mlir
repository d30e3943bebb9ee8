// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axes must be sorted, distinct and within rank 2}}
  %z = dlc.reduce_max %x {axes = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axes must be sorted, distinct and within rank 2}}
  %z = dlc.reduce_max %x {axes = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axes must be sorted, distinct and within rank 2}}
  %z = dlc.reduce_max %x {axes = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axes must be sorted, distinct and within rank 2}}
  %z = dlc.reduce_max %x {axes = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axes must be sorted, distinct and within rank 2}}
  %z = dlc.argmax %x {axes = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2xi64>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected one axis, found 2}}
  %z = dlc.argmax %x {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<i64>
  return
}
