// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<8x4xf16>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected images, found x of type 'tensor<8x4xf16>'}}
  %y, %m, %v = dlc.fused_batch_norm %x, %s, %s {epsilon = 1.0e-05 : f64, relu} : (tensor<8x4xf16>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<1x8x8x4xf16>, %s: tensor<8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected one value for each of 4 channels, found 'tensor<8xf32>'}}
  %y, %m, %v = dlc.fused_batch_norm %x, %s, %s {epsilon = 1.0e-05 : f64, relu} : (tensor<1x8x8x4xf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<1x8x8x4xf16>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%x: tensor<1x8x8x4xf16>, %s: tensor<4xf32>, %r: tensor<1x8x8x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected a residual of x's type}}
  %y, %m, %v = dlc.fused_batch_norm %x, %s, %s, %r {epsilon = 1.0e-05 : f64, relu} : (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>, tensor<1x8x8x4xf32>) -> (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%dy: tensor<8x4xf16>, %x: tensor<8x4xf16>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected images, found x of type 'tensor<8x4xf16>'}}
  %dx, %ds, %db = dlc.fused_batch_norm_backward %dy, %x, %s, %s, %s, %s : (tensor<8x4xf16>, tensor<8x4xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%dy: tensor<1x8x8x4xf16>, %x: tensor<1x8x8x4xf16>, %s: tensor<8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected one value for each of 4 channels, found 'tensor<8xf32>'}}
  %dx, %ds, %db = dlc.fused_batch_norm_backward %dy, %x, %s, %s, %s, %s : (tensor<1x8x8x4xf16>, tensor<1x8x8x4xf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<1x8x8x4xf16>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%dy: tensor<1x8x8x4xf32>, %x: tensor<1x8x8x4xf16>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected type 'tensor<1x8x8x4xf16>', found 'tensor<1x8x8x4xf32>'}}
  %dx, %ds, %db = dlc.fused_batch_norm_backward %dy, %x, %s, %s, %s, %s : (tensor<1x8x8x4xf32>, tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x8x8x4xf16>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axis 2 is outside of rank 2}}
  %y, %m, %r = dlc.fused_layer_norm %x, %s, %s {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 3, found 'tensor<2xf32>'}}
  %y, %m, %r = dlc.fused_layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x3xf32>, %x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axis -1 is outside of rank 2}}
  %dx, %ds, %db = dlc.fused_layer_norm_backward %dy, %x, %s, %m, %m {axis = -1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x3xf32>, %x: tensor<2x3xf32>, %s: tensor<2xf32>, %m: tensor<2x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 3, found 'tensor<2xf32>'}}
  %dx, %ds, %db = dlc.fused_layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%dy: tensor<3x2xf32>, %x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected type 'tensor<2x3xf32>', found 'tensor<3x2xf32>'}}
  %dx, %ds, %db = dlc.fused_layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64} : (tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x3xf32>, %x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected shape 2x1, found 'tensor<2x3xf32>'}}
  %dx, %ds, %db = dlc.fused_layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
