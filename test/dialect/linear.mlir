// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @linear(%a: tensor<5x2x3xf32>, %b: tensor<4x3xf32>, %c: tensor<4xf32>, %x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>, %o: tensor<6xf32>) {
  %matmul = dlc.matmul %a, %b, %c by = generated {trans_b} : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  %y = dlc.conv %x, %w, %o {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x4xf32>
  %dx = dlc.conv_backward_data %y, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x6x4x4xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x8x8xf32>
  %dw = dlc.conv_backward_filter %x, %y {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<1x6x4x4xf32>) -> tensor<6x2x3x3xf32>
  %max, %index = dlc.max_pool %x by = library {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>)
  %dmax = dlc.max_pool_backward %max, %index {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi8>) -> tensor<1x4x8x8xf32>
  %avg = dlc.avg_pool %x {count_include_pad, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, layout = "nhwc"} : (tensor<1x4x8x8xf32>) -> tensor<1x2x4x8xf32>
  %davg = dlc.avg_pool_backward %avg by = decomposed {count_include_pad, dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>, layout = "nhwc"} : (tensor<1x2x4x8xf32>) -> tensor<1x4x8x8xf32>
  return
}

func.func @signal(%x: tensor<2x4x9xf32>, %w: tensor<6x4x3xf32>) {
  %y = dlc.conv %x, %w {dilations = array<i64: 2>, pads = array<i64: 2, 0>, strides = array<i64: 1>} : (tensor<2x4x9xf32>, tensor<6x4x3xf32>) -> tensor<2x6x7xf32>
  %max, %index = dlc.max_pool %y {dilations = array<i64: 1>, kernel = array<i64: 3>, pads = array<i64: 0, 0>, strides = array<i64: 2>} : (tensor<2x6x7xf32>) -> (tensor<2x6x3xf32>, tensor<2x6x3xi8>)
  return
}

func.func @volume(%x: tensor<1x8x6x4x2xf32>, %w: tensor<6x2x3x3x1xf32>) {
  %y = dlc.conv %x, %w {dilations = array<i64: 1, 1, 1>, layout = "nhwc", pads = array<i64: 1, 1, 0, 1, 1, 0>, strides = array<i64: 2, 1, 2>} : (tensor<1x8x6x4x2xf32>, tensor<6x2x3x3x1xf32>) -> tensor<1x4x6x2x6xf32>
  %dx = dlc.conv_backward_data %y, %w {dilations = array<i64: 1, 1, 1>, layout = "nhwc", pads = array<i64: 1, 1, 0, 1, 1, 0>, strides = array<i64: 2, 1, 2>} : (tensor<1x4x6x2x6xf32>, tensor<6x2x3x3x1xf32>) -> tensor<1x8x6x4x2xf32>
  %avg = dlc.avg_pool %y {dilations = array<i64: 1, 1, 1>, kernel = array<i64: 2, 3, 1>, layout = "nhwc", pads = array<i64: 0, 1, 0, 0, 0, 0>, strides = array<i64: 2, 2, 2>} : (tensor<1x4x6x2x6xf32>) -> tensor<1x2x3x1x6xf32>
  return
}

func.func @experts(%x: tensor<4x3xf32>, %w: tensor<2x5x3xf32>, %i: tensor<4xi64>) {
  %y = dlc.grouped_matmul %x, %w, %i {trans_w} : (tensor<4x3xf32>, tensor<2x5x3xf32>, tensor<4xi64>) -> tensor<4x5xf32>
  %dx = dlc.grouped_matmul %y, %w, %i by = library : (tensor<4x5xf32>, tensor<2x5x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  %dw = dlc.grouped_matmul_backward_weight %x, %y, %i by = decomposed {trans_w} : (tensor<4x3xf32>, tensor<4x5xf32>, tensor<4xi64>) -> tensor<2x5x3xf32>
  return
}
