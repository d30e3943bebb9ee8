// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%qkv: tensor<2x8x11x16xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected queries, keys and values of equally many heads, found 'tensor<2x8x11x16xf32>'}}
  %y, %l = dlc.attention_joint %qkv {scale = 2.500000e-01 : f64} : (tensor<2x8x11x16xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @f(%qkv: tensor<2x8x12x16xf32>, %m: tensor<8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected a mask of rank 4, found 'tensor<8x8xf32>'}}
  %y, %l = dlc.attention_joint %qkv, %m {scale = 2.500000e-01 : f64} : (tensor<2x8x12x16xf32>, tensor<8x8xf32>) -> (tensor<2x8x4x16xf32>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @f(%qkv: tensor<2x8x10xf32>, %y: tensor<2x8x4x16xf32>, %l: tensor<2x4x8x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected queries, keys and values of equally many heads, found 'tensor<2x8x10xf32>'}}
  %d = dlc.attention_joint_backward %y, %qkv, %y, %l {scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8x10xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8x1xf32>) -> tensor<2x8x10xf32>
  return
}

// -----

func.func @f(%qkv: tensor<2x8x12x16xf32>, %y: tensor<2x8x4x16xf32>, %l: tensor<2x4x8x1xf32>, %m: tensor<8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected a mask of rank 4, found 'tensor<8x8xf32>'}}
  %d = dlc.attention_joint_backward %y, %qkv, %y, %l, %m {scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xf32>, tensor<2x8x12x16xf32>, tensor<2x8x4x16xf32>, tensor<2x4x8x1xf32>, tensor<8x8xf32>) -> tensor<2x8x12x16xf32>
  return
}

// -----

func.func @f(%qkv: tensor<2x8x12x16xf32>, %y: tensor<2x8x3x16xf32>, %l: tensor<2x4x8x1xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected dy, y and lse of one attention, found 'tensor<2x8x3x16xf32>', 'tensor<2x8x3x16xf32>' and 'tensor<2x4x8x1xf32>'}}
  %d = dlc.attention_joint_backward %y, %qkv, %y, %l {scale = 2.500000e-01 : f64} : (tensor<2x8x3x16xf32>, tensor<2x8x12x16xf32>, tensor<2x8x3x16xf32>, tensor<2x4x8x1xf32>) -> tensor<2x8x12x16xf32>
  return
}
