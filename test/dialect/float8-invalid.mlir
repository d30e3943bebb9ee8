// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected format e4m3 or e5m2, found e3m4}}
  %y = dlc.float8_encode %x {format = "e3m4"} : (tensor<2xf32>) -> tensor<2xi8>
  return
}

// -----

func.func @f(%x: tensor<2xi8>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected format e4m3 or e5m2, found fp8}}
  %y = dlc.float8_decode %x {format = "fp8"} : (tensor<2xi8>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<48x16xi8>, %s: tensor<f32>, %t: tensor<f32>) {
  // expected-error @+1 {{(C1) expected matrices of one number of columns, found 'tensor<16x32xi8>' and 'tensor<48x16xi8>'}}
  %y = dlc.scaled_matmul %a, %b, %s, %t {format_a = "e4m3", format_b = "e4m3"} : (tensor<16x32xi8>, tensor<48x16xi8>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>
  return
}

// -----

func.func @f(%a: tensor<2x16x32xi8>, %b: tensor<48x32xi8>, %s: tensor<f32>, %t: tensor<f32>) {
  // expected-error @+1 {{(C1) expected matrices of one number of columns, found 'tensor<2x16x32xi8>' and 'tensor<48x32xi8>'}}
  %y = dlc.scaled_matmul %a, %b, %s, %t {format_a = "e4m3", format_b = "e4m3"} : (tensor<2x16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<48x32xi8>, %s: tensor<1xf32>, %t: tensor<f32>) {
  // expected-error @+1 {{(C2) expected a scalar as scale, found 'tensor<1xf32>'}}
  %y = dlc.scaled_matmul %a, %b, %s, %t {format_a = "e4m3", format_b = "e4m3"} : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<1xf32>, tensor<f32>) -> tensor<16x48xbf16>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<48x32xi8>, %s: tensor<f32>, %t: tensor<f32>, %c: tensor<16xbf16>) {
  // expected-error @+1 {{(C3)}}
  %y = dlc.scaled_matmul %a, %b, %s, %t, %c {format_a = "e4m3", format_b = "e4m3"} : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>, tensor<16xbf16>) -> tensor<16x48xbf16>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<48x32xi8>, %s: tensor<f32>, %t: tensor<f32>) {
  // expected-error @+1 {{(C4) expected format e4m3 or e5m2, found e3m4}}
  %y = dlc.scaled_matmul %a, %b, %s, %t {format_a = "e3m4", format_b = "e4m3"} : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<48x32xi8>, %s: tensor<f32>, %t: tensor<f32>) {
  // expected-error @+1 {{(C4) expected at most one operand of format e5m2}}
  %y = dlc.scaled_matmul %a, %b, %s, %t {format_a = "e5m2", format_b = "e5m2"} : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<48x32xi8>, %s: tensor<f32>, %t: tensor<f32>) {
  // expected-error @+1 {{(C5)}}
  %y = dlc.scaled_matmul %a, %b, %s, %t {format_a = "e4m3", format_b = "e4m3"} : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>) -> tensor<16x16xbf16>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<48x32xi8>, %s: tensor<f32>, %t: tensor<f32>) {
  // expected-error @+1 {{(C6)}}
  %y = dlc.scaled_matmul %a, %b, %s, %t by = generated {format_a = "e4m3", format_b = "e4m3"} : (tensor<16x32xi8>, tensor<48x32xi8>, tensor<f32>, tensor<f32>) -> tensor<16x48xbf16>
  return
}
