// RUN: dlc-gradcheck %s
// Pooling windows.

func.func @max_plain(%x: tensor<2x2x4x4xf64>) -> tensor<2x2x2x2xf64> {
  %y, %i = dlc.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x2x4x4xf64>) -> (tensor<2x2x2x2xf64>, tensor<2x2x2x2xi8>)
  return %y : tensor<2x2x2x2xf64>
}

func.func @max_overlap(%x: tensor<1x2x5x6xf64>) -> tensor<1x2x3x3xf64> {
  %y, %i = dlc.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x5x6xf64>) -> (tensor<1x2x3x3xf64>, tensor<1x2x3x3xi8>)
  return %y : tensor<1x2x3x3xf64>
}

func.func @max_dilated(%x: tensor<1x1x6x6xf64>) -> tensor<1x1x5x4xf64> {
  %y, %i = dlc.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 1, 0>, dilations = array<i64: 2, 3>} : (tensor<1x1x6x6xf64>) -> (tensor<1x1x5x4xf64>, tensor<1x1x5x4xi8>)
  return %y : tensor<1x1x5x4xf64>
}

func.func @max_nhwc(%x: tensor<1x4x5x3xf64>) -> tensor<1x3x2x3xf64> {
  %y, %i = dlc.max_pool %x {kernel = array<i64: 2, 3>, strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "nhwc"} : (tensor<1x4x5x3xf64>) -> (tensor<1x3x2x3xf64>, tensor<1x3x2x3xi8>)
  return %y : tensor<1x3x2x3xf64>
}

func.func @max_global(%x: tensor<2x3x4x4xf64>) -> tensor<2x3x1x1xf64> {
  %y, %i = dlc.max_pool %x {kernel = array<i64: 4, 4>, strides = array<i64: 4, 4>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x4x4xf64>) -> (tensor<2x3x1x1xf64>, tensor<2x3x1x1xi8>)
  return %y : tensor<2x3x1x1xf64>
}

func.func @avg_plain(%x: tensor<2x2x4x4xf64>) -> tensor<2x2x2x2xf64> {
  %y = dlc.avg_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x2x4x4xf64>) -> tensor<2x2x2x2xf64>
  return %y : tensor<2x2x2x2xf64>
}

func.func @avg_overlap(%x: tensor<1x2x5x6xf64>) -> tensor<1x2x3x3xf64> {
  %y = dlc.avg_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x5x6xf64>) -> tensor<1x2x3x3xf64>
  return %y : tensor<1x2x3x3xf64>
}

func.func @avg_dilated(%x: tensor<1x1x6x6xf64>) -> tensor<1x1x5x4xf64> {
  %y = dlc.avg_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 1, 0>, dilations = array<i64: 2, 3>} : (tensor<1x1x6x6xf64>) -> tensor<1x1x5x4xf64>
  return %y : tensor<1x1x5x4xf64>
}

func.func @avg_nhwc(%x: tensor<1x4x5x3xf64>) -> tensor<1x3x2x3xf64> {
  %y = dlc.avg_pool %x {kernel = array<i64: 2, 3>, strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "nhwc"} : (tensor<1x4x5x3xf64>) -> tensor<1x3x2x3xf64>
  return %y : tensor<1x3x2x3xf64>
}

func.func @avg_global(%x: tensor<2x3x4x4xf64>) -> tensor<2x3x1x1xf64> {
  %y = dlc.avg_pool %x {kernel = array<i64: 4, 4>, strides = array<i64: 4, 4>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x3x4x4xf64>) -> tensor<2x3x1x1xf64>
  return %y : tensor<2x3x1x1xf64>
}

func.func @avg_include_pad(%x: tensor<1x2x5x5xf64>) -> tensor<1x2x3x3xf64> {
  %y = dlc.avg_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, count_include_pad} : (tensor<1x2x5x5xf64>) -> tensor<1x2x3x3xf64>
  return %y : tensor<1x2x3x3xf64>
}
