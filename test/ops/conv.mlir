// RUN: dlc-gradcheck %s
// Strides, pads, dilations, groups and layouts.

func.func @plain(%x: tensor<2x2x4x5xf64>, %w: tensor<3x2x3x2xf64>, %b: tensor<3xf64>) -> tensor<2x3x2x4xf64> {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x2x4x5xf64>, tensor<3x2x3x2xf64>, tensor<3xf64>) -> tensor<2x3x2x4xf64>
  return %y : tensor<2x3x2x4xf64>
}

func.func @padded(%x: tensor<1x2x4x4xf64>, %w: tensor<3x2x3x3xf64>, %b: tensor<3xf64>) -> tensor<1x3x4x4xf64> {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x4x4xf64>, tensor<3x2x3x3xf64>, tensor<3xf64>) -> tensor<1x3x4x4xf64>
  return %y : tensor<1x3x4x4xf64>
}

func.func @strided(%x: tensor<1x2x5x6xf64>, %w: tensor<3x2x3x3xf64>, %b: tensor<3xf64>) -> tensor<1x3x3x2xf64> {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 2, 3>, pads = array<i64: 1, 0, 1, 2>, dilations = array<i64: 1, 1>} : (tensor<1x2x5x6xf64>, tensor<3x2x3x3xf64>, tensor<3xf64>) -> tensor<1x3x3x2xf64>
  return %y : tensor<1x3x3x2xf64>
}

func.func @dilated(%x: tensor<1x1x6x6xf64>, %w: tensor<2x1x3x2xf64>, %b: tensor<2xf64>) -> tensor<1x2x2x3xf64> {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 2, 3>} : (tensor<1x1x6x6xf64>, tensor<2x1x3x2xf64>, tensor<2xf64>) -> tensor<1x2x2x3xf64>
  return %y : tensor<1x2x2x3xf64>
}

func.func @grouped(%x: tensor<1x4x3x3xf64>, %w: tensor<6x2x2x2xf64>, %b: tensor<6xf64>) -> tensor<1x6x2x2xf64> {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 2 : i64} : (tensor<1x4x3x3xf64>, tensor<6x2x2x2xf64>, tensor<6xf64>) -> tensor<1x6x2x2xf64>
  return %y : tensor<1x6x2x2xf64>
}

func.func @depthwise(%x: tensor<1x3x4x4xf64>, %w: tensor<3x1x3x3xf64>) -> tensor<1x3x4x4xf64> {
  %y = dlc.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 3 : i64} : (tensor<1x3x4x4xf64>, tensor<3x1x3x3xf64>) -> tensor<1x3x4x4xf64>
  return %y : tensor<1x3x4x4xf64>
}

func.func @pointwise(%x: tensor<2x3x2x2xf64>, %w: tensor<4x3x1x1xf64>, %b: tensor<4xf64>) -> tensor<2x4x2x2xf64> {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x2x2xf64>, tensor<4x3x1x1xf64>, tensor<4xf64>) -> tensor<2x4x2x2xf64>
  return %y : tensor<2x4x2x2xf64>
}

func.func @filters_last(%x: tensor<1x4x5x4xf64>, %w: tensor<6x3x2x2xf64>, %b: tensor<6xf64>) -> tensor<1x2x4x6xf64> {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 2 : i64, layout = "nhwc", filters_last} : (tensor<1x4x5x4xf64>, tensor<6x3x2x2xf64>, tensor<6xf64>) -> tensor<1x2x4x6xf64>
  return %y : tensor<1x2x4x6xf64>
}

func.func @nhwc(%x: tensor<1x4x4x2xf64>, %w: tensor<3x2x3x3xf64>, %b: tensor<3xf64>) -> tensor<1x2x3x3xf64> {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 0, 1>, dilations = array<i64: 1, 1>, layout = "nhwc"} : (tensor<1x4x4x2xf64>, tensor<3x2x3x3xf64>, tensor<3xf64>) -> tensor<1x2x3x3xf64>
  return %y : tensor<1x2x3x3xf64>
}

func.func @nhwc_grouped(%x: tensor<1x3x3x4xf64>, %w: tensor<4x2x2x2xf64>, %b: tensor<4xf64>) -> tensor<1x2x2x4xf64> {
  %y = dlc.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 2 : i64, layout = "nhwc"} : (tensor<1x3x3x4xf64>, tensor<4x2x2x2xf64>, tensor<4xf64>) -> tensor<1x2x2x4xf64>
  return %y : tensor<1x2x2x4xf64>
}

func.func @uneven_stride(%x: tensor<1x1x6x6xf64>, %w: tensor<1x1x3x3xf64>) -> tensor<1x1x2x2xf64> {
  %y = dlc.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x6x6xf64>, tensor<1x1x3x3xf64>) -> tensor<1x1x2x2xf64>
  return %y : tensor<1x1x2x2xf64>
}

// The transposed convolution of ONNX: the second loses a row and a column to output_padding.
func.func @transposed(%x: tensor<2x3x3x2xf64>, %w: tensor<3x2x3x2xf64>) -> tensor<2x2x5x3xf64> {
  %y = dlc.conv_backward_data %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x3x2xf64>, tensor<3x2x3x2xf64>) -> tensor<2x2x5x3xf64>
  return %y : tensor<2x2x5x3xf64>
}

func.func @transposed_strided_grouped(%x: tensor<1x4x2x3xf64>, %w: tensor<4x1x3x3xf64>) -> tensor<1x2x4x8xf64> {
  %y = dlc.conv_backward_data %x, %w {strides = array<i64: 2, 3>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 2 : i64} : (tensor<1x4x2x3xf64>, tensor<4x1x3x3xf64>) -> tensor<1x2x4x8xf64>
  return %y : tensor<1x2x4x8xf64>
}

func.func @transposed_nhwc(%x: tensor<1x2x3x3xf64>, %w: tensor<3x2x2x2xf64>) -> tensor<1x4x4x2xf64> {
  %y = dlc.conv_backward_data %x, %w {strides = array<i64: 2, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "nhwc"} : (tensor<1x2x3x3xf64>, tensor<3x2x2x2xf64>) -> tensor<1x4x4x2xf64>
  return %y : tensor<1x4x4x2xf64>
}
