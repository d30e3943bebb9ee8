// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected x of rank 2 or more}}
  %y, %m, %v, %a, %b = dlc.batch_norm %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %s: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected one value for each of 4 channels, found shape 3}}
  %y, %m, %v, %a, %b = dlc.batch_norm %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64} : (tensor<1x4x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x4x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected layout nchw or nhwc, found nchv}}
  %y, %m, %v, %a, %b = dlc.batch_norm %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64, layout = "nchv"} : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected x of rank 2 or more}}
  %y = dlc.batch_norm_infer %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %s: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected one value for each of 4 channels, found shape 3}}
  %y = dlc.batch_norm_infer %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64} : (tensor<1x4x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected layout nchw or nhwc, found nchv}}
  %y = dlc.batch_norm_infer %x, %s, %s, %s, %s {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64, layout = "nchv"} : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<4xf32>, %x: tensor<4xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected x of rank 2 or more}}
  %dx, %ds, %db = dlc.batch_norm_backward %dy, %x, %s, %s, %s {epsilon = 1.0e-05 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%dy: tensor<1x4x8x8xf32>, %x: tensor<1x4x8x8xf32>, %s: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected one value for each of 4 channels, found shape 3}}
  %dx, %ds, %db = dlc.batch_norm_backward %dy, %x, %s, %s, %s {epsilon = 1.0e-05 : f64} : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<1x4x8x8xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%dy: tensor<1x4x8x8xf32>, %x: tensor<1x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected layout nchw or nhwc, found nchv}}
  %dx, %ds, %db = dlc.batch_norm_backward %dy, %x, %s, %s, %s {epsilon = 1.0e-05 : f64, layout = "nchv"} : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%dy: tensor<1x4x8x4xf32>, %x: tensor<1x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected type 'tensor<1x4x8x8xf32>', found 'tensor<1x4x8x4xf32>'}}
  %dx, %ds, %db = dlc.batch_norm_backward %dy, %x, %s, %s, %s {epsilon = 1.0e-05 : f64} : (tensor<1x4x8x4xf32>, tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axis 2 is outside of rank 2}}
  %y, %m, %r = dlc.layer_norm %x, %s, %s {axis = 2 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 3, found 'tensor<2xf32>'}}
  %y, %m, %r = dlc.layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x3xf32>, %x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axis -1 is outside of rank 2}}
  %dx, %ds, %db = dlc.layer_norm_backward %dy, %x, %s, %m, %m {axis = -1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x3xf32>, %x: tensor<2x3xf32>, %s: tensor<2xf32>, %m: tensor<2x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 3, found 'tensor<2xf32>'}}
  %dx, %ds, %db = dlc.layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%dy: tensor<3x2xf32>, %x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected type 'tensor<2x3xf32>', found 'tensor<3x2xf32>'}}
  %dx, %ds, %db = dlc.layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64} : (tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%dy: tensor<2x3xf32>, %x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected shape 2x1, found 'tensor<2x3xf32>'}}
  %dx, %ds, %db = dlc.layer_norm_backward %dy, %x, %s, %m, %m {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axis 2 is outside of rank 2}}
  %y = dlc.softmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%dy: tensor<2x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axis -1 is outside of rank 2}}
  %dx = dlc.softmax_backward %dy, %y {axis = -1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%dy: tensor<2x3xf32>, %y: tensor<2x3xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected type 'tensor<2x3xf32>', found 'tensor<2x3xf16>'}}
  %dx = dlc.log_softmax_backward %dy, %y {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf16>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected by = library or decomposed, found generated}}
  %y:5 = dlc.batch_norm %x, %s, %s, %s, %s by = generated {epsilon = 1.0e-05 : f64, momentum = 0.5 : f64} : (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected by = library or decomposed, found generated}}
  %y:3 = dlc.batch_norm_backward %x, %x, %s, %s, %s by = generated {epsilon = 1.0e-05 : f64} : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected by = library or decomposed, found generated}}
  %y:3 = dlc.layer_norm %x, %s, %s by = generated {axis = 1 : i64, epsilon = 1.0e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %m: tensor<2x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected by = library or decomposed, found generated}}
  %y:3 = dlc.layer_norm_backward %x, %x, %s, %m, %m by = generated {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
