// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected operands of rank 2 or more, found 3 and 3x4}}
  %y = dlc.matmul %a, %b : (tensor<3xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) contracted sizes differ: 3 and 4}}
  %y = dlc.matmul %a, %b {trans_b} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<5x2x3xf32>, %b: tensor<6x3x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) batch dimensions do not broadcast: 5 and 6}}
  %y = dlc.matmul %a, %b : (tensor<5x2x3xf32>, tensor<6x3x4xf32>) -> tensor<5x2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected a bias of shape 4, found 2}}
  %y = dlc.matmul %a, %b, %c : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected operands of one element type}}
  %y = dlc.matmul %a, %b : (tensor<2x3xf32>, tensor<3x4xf16>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C6) expected activation relu or gelu_tanh, found tanh}}
  %y = dlc.matmul %a, %b {activation = "tanh"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected a bias of shape 6}}
  %y = dlc.conv %x, %w, %b {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<4xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected x and weights of one rank from 3 to 5, found 1x4x8x8 and 6x2x3}}
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected 6 input channels, found 4}}
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x3x3x3xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) 6 output channels do not divide by 4 groups}}
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) 6 output channels do not divide by 0 groups}}
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 0 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected operands of one element type, found 'f32' and 'f16'}}
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf16>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C6) the window does not fit into input 1x4x8x8}}
  %y = dlc.conv %x, %w {dilations = array<i64: 9, 9>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C7) expected 2 strides, 4 pads and 2 dilations}}
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C7) expected 2 strides, 4 pads and 2 dilations}}
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 0, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C8) expected layout nchw or nhwc, found nchv}}
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64, layout = "nchv"} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x4xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x4x4xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error @+1 {{(C1) expected x and weights of one rank from 3 to 5, found 1x4x8x8 and 6x2x3}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x2x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x4x4xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+1 {{(C2) expected 6 input channels, found 4}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x4x4xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{(C3) 6 output channels do not divide by 4 groups}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 4 : i64} : (tensor<1x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x4x4xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{(C3) 6 output channels do not divide by 0 groups}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 0 : i64} : (tensor<1x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x4x4xf32>, %w: tensor<6x2x3x3xf16>) {
  // expected-error @+1 {{(C5) expected operands of one element type, found 'f32' and 'f16'}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x2x3x3xf16>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x4x4xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{(C6) the window does not fit into input 1x4x8x8}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 9, 9>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x4x4xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{(C7) expected 2 strides, 4 pads and 2 dilations}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2>, group = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x4x4xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{(C7) expected 2 strides, 4 pads and 2 dilations}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 0, 2>, group = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x4x4xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{(C8) expected layout nchw or nhwc, found nchv}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64, layout = "nchv"} : (tensor<1x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x6x3x4xf32>, %w: tensor<6x2x3x3xf32>) {
  // expected-error @+1 {{(C9) expected shape 1x6x4x4, found 'tensor<1x6x3x4xf32>'}}
  %dx = dlc.conv_backward_data %dy, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x6x3x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %dy: tensor<1x6x8x8xf32>) {
  // expected-error @+1 {{(C9) expected shape 1x6x4x4, found 'tensor<1x6x8x8xf32>'}}
  %dw = dlc.conv_backward_filter %x, %dy {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<1x6x8x8xf32>) -> tensor<6x2x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected x of rank 3 to 5, found 1x4}}
  %y = dlc.avg_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected 2 kernel sizes, 2 strides, 4 pads and 2 dilations}}
  %y = dlc.avg_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 0, 2>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) the window does not fit into input 1x4x8x8}}
  %y = dlc.avg_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 9, 9>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected layout nchw or nhwc, found nchv}}
  %y = dlc.avg_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, layout = "nchv"} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected x of rank 3 to 5, found 1x4}}
  %y, %i = dlc.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected 2 kernel sizes, 2 strides, 4 pads and 2 dilations}}
  %y, %i = dlc.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 0, 2>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) the window does not fit into input 1x4x8x8}}
  %y, %i = dlc.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 9, 9>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected layout nchw or nhwc, found nchv}}
  %y, %i = dlc.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, layout = "nchv"} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)
  return
}

// -----

func.func @f(%x: tensor<1x4x16x16xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected a window of at most 255 elements, found 256}}
  %y, %i = dlc.max_pool %x {dilations = array<i64: 1, 1>, kernel = array<i64: 16, 16>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x16x16xf32>) -> (tensor<1x4x1x1xf32>, tensor<1x4x1x1xi8>)
  return
}

// -----

func.func @f(%dy: tensor<1x4x4x4xf32>) {
  // expected-error @+1 {{(C1) expected x of rank 3 to 5, found 1x4}}
  %dx = dlc.avg_pool_backward %dy {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x4x4x4xf32>) {
  // expected-error @+1 {{(C2) expected 2 kernel sizes, 2 strides, 4 pads and 2 dilations}}
  %dx = dlc.avg_pool_backward %dy {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 0, 2>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x4x4x4xf32>) {
  // expected-error @+1 {{(C3) the window does not fit into input 1x4x8x8}}
  %dx = dlc.avg_pool_backward %dy {dilations = array<i64: 1, 1>, kernel = array<i64: 9, 9>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x4x4x4xf32>) {
  // expected-error @+1 {{(C4) expected layout nchw or nhwc, found nchv}}
  %dx = dlc.avg_pool_backward %dy {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, layout = "nchv"} : (tensor<1x4x4x4xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x4x2x4xf32>) {
  // expected-error @+1 {{(C5) expected shape 1x4x4x4, found 'tensor<1x4x2x4xf32>'}}
  %dx = dlc.avg_pool_backward %dy {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x2x4xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%dy: tensor<1x4x4x4xf32>, %i: tensor<1x4x2x4xi8>) {
  // expected-error @+1 {{(C5) expected shape 1x4x4x4, found 'tensor<1x4x2x4xi8>'}}
  %dx = dlc.max_pool_backward %dy, %i {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>, tensor<1x4x2x4xi8>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C7) expected by = library or generated, found decomposed}}
  %y = dlc.matmul %a, %b by = decomposed : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<4x1x3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C10) expected by = library or generated or winograd2 or winograd4, found decomposed}}
  %y = dlc.conv %x, %w by = decomposed {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, group = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>, %w: tensor<4x1x3x3xf32>) {
  // expected-error @+1 {{(C10) expected by = library or generated or winograd2 or winograd4, found decomposed}}
  %y = dlc.conv_backward_data %x, %w by = decomposed {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, group = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C6) expected by = library or decomposed, found generated}}
  %y, %i = dlc.max_pool %x by = generated {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)
  return
}

// -----

func.func @f(%x: tensor<1x4x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected by = library or decomposed, found generated}}
  %y = dlc.avg_pool %x by = generated {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x4x4xf32>) {
  // expected-error @+1 {{(C6) expected by = library or decomposed, found generated}}
  %y = dlc.avg_pool_backward %x by = generated {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x8x8xf32>
  return
}

// -----

// With one or three spatial dimensions, too.
func.func @f(%x: tensor<1x4x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C7) expected 1 strides, 2 pads and 1 dilations}}
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x8x8x8x4xf32>, %dy: tensor<1x4x4x3x6xf32>) {
  // expected-error @+1 {{(C9) expected shape 1x4x4x4x6, found 'tensor<1x4x4x3x6xf32>'}}
  %dw = dlc.conv_backward_filter %x, %dy {dilations = array<i64: 1, 1, 1>, pads = array<i64: 1, 1, 1, 1, 1, 1>, strides = array<i64: 2, 2, 2>, layout = "nhwc"} : (tensor<1x8x8x8x4xf32>, tensor<1x4x4x3x6xf32>) -> tensor<6x4x3x3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<1x4x4x2x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected x of rank 3 to 5, found 1x4x4x2x8x8}}
  %y = dlc.avg_pool %x {dilations = array<i64: 1, 1, 1, 1>, kernel = array<i64: 2, 2, 2, 2>, pads = array<i64: 0, 0, 0, 0, 0, 0, 0, 0>, strides = array<i64: 2, 2, 2, 2>} : (tensor<1x4x4x2x8x8xf32>) -> tensor<1x4x2x1x4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x1x8x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected a window of at most 255 elements, found 512}}
  %y, %i = dlc.max_pool %x {dilations = array<i64: 1, 1, 1>, kernel = array<i64: 8, 8, 8>, pads = array<i64: 0, 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<1x1x8x8x8xf32>) -> (tensor<1x1x1x1x1xf32>, tensor<1x1x1x1x1xi8>)
  return
}

// -----

func.func @f(%x: tensor<4x3x1xf32>, %w: tensor<2x5x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected a matrix, found 'tensor<4x3x1xf32>'}}
  %y = dlc.grouped_matmul %x, %w, %i {trans_w} : (tensor<4x3x1xf32>, tensor<2x5x3xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<2x5x3xf32>, %i: tensor<5xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 4, found 'tensor<5xi64>'}}
  %y = dlc.grouped_matmul %x, %w, %i {trans_w} : (tensor<4x3xf32>, tensor<2x5x3xf32>, tensor<5xi64>) -> tensor<4x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<2x5x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected matrices for 3 columns, found 2x5x3}}
  %y = dlc.grouped_matmul %x, %w, %i : (tensor<4x3xf32>, tensor<2x5x3xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<2x5x3xf16>, %i: tensor<4xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4)}}
  %y = dlc.grouped_matmul %x, %w, %i {trans_w} : (tensor<4x3xf32>, tensor<2x5x3xf16>, tensor<4xi64>) -> tensor<4x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %w: tensor<2x5x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5)}}
  %y = dlc.grouped_matmul %x, %w, %i by = generated {trans_w} : (tensor<4x3xf32>, tensor<2x5x3xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{(C3) 'tensor<4x3xf32>' and 'tensor<4x5xf32>' have no gradient 'tensor<2x5x3xf32>'}}
  %dw = dlc.grouped_matmul_backward_weight %x, %y, %i : (tensor<4x3xf32>, tensor<4x5xf32>, tensor<4xi64>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3x1xf32>, %y: tensor<4x5xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{(C1)}}
  %dw = dlc.grouped_matmul_backward_weight %x, %y, %i {trans_w} : (tensor<4x3x1xf32>, tensor<4x5xf32>, tensor<4xi64>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>, %i: tensor<5xi64>) {
  // expected-error @+1 {{(C2)}}
  %dw = dlc.grouped_matmul_backward_weight %x, %y, %i {trans_w} : (tensor<4x3xf32>, tensor<4x5xf32>, tensor<5xi64>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<4x5xf16>, %i: tensor<4xi64>) {
  // expected-error @+1 {{(C4)}}
  %dw = dlc.grouped_matmul_backward_weight %x, %y, %i {trans_w} : (tensor<4x3xf32>, tensor<4x5xf16>, tensor<4xi64>) -> tensor<2x5x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{(C5)}}
  %dw = dlc.grouped_matmul_backward_weight %x, %y, %i by = winograd2 {trans_w} : (tensor<4x3xf32>, tensor<4x5xf32>, tensor<4xi64>) -> tensor<2x5x3xf32>
  return
}
