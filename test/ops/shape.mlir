// RUN: dlc-gradcheck %s
// Movement, gather and scatter.

func.func @reshape(%x: tensor<2x6xf64>) -> tensor<3x4xf64> {
  %y = dlc.reshape %x : (tensor<2x6xf64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}

func.func @transpose(%x: tensor<2x3x4xf64>) -> tensor<4x2x3xf64> {
  %y = dlc.transpose %x {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf64>) -> tensor<4x2x3xf64>
  return %y : tensor<4x2x3xf64>
}

func.func @broadcast(%x: tensor<3x1xf64>) -> tensor<2x3x4xf64> {
  %y = dlc.broadcast %x : (tensor<3x1xf64>) -> tensor<2x3x4xf64>
  return %y : tensor<2x3x4xf64>
}

func.func @broadcast_scalar(%x: tensor<f64>) -> tensor<2x3xf64> {
  %y = dlc.broadcast %x : (tensor<f64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @slice(%x: tensor<4x5xf64>) -> tensor<2x5xf64> {
  %y = dlc.slice %x {starts = array<i64: 1, 0>, sizes = array<i64: 2, 5>, steps = array<i64: 1, 1>} : (tensor<4x5xf64>) -> tensor<2x5xf64>
  return %y : tensor<2x5xf64>
}

func.func @slice_steps(%x: tensor<7x8xf64>) -> tensor<3x3xf64> {
  %y = dlc.slice %x {starts = array<i64: 1, 0>, sizes = array<i64: 3, 3>, steps = array<i64: 2, 3>} : (tensor<7x8xf64>) -> tensor<3x3xf64>
  return %y : tensor<3x3xf64>
}

func.func @slice_reversed(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
  %y = dlc.slice %x {starts = array<i64: 2, 3>, sizes = array<i64: 3, 4>, steps = array<i64: -1, -1>} : (tensor<3x4xf64>) -> tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}

func.func @slice_negative_step(%x: tensor<3x8xf64>) -> tensor<3x3xf64> {
  %y = dlc.slice %x {starts = array<i64: 0, 6>, sizes = array<i64: 3, 3>, steps = array<i64: 1, -3>} : (tensor<3x8xf64>) -> tensor<3x3xf64>
  return %y : tensor<3x3xf64>
}

func.func @slice_one(%x: tensor<3x4xf64>) -> tensor<1x1xf64> {
  %y = dlc.slice %x {starts = array<i64: 2, 1>, sizes = array<i64: 1, 1>, steps = array<i64: 5, -7>} : (tensor<3x4xf64>) -> tensor<1x1xf64>
  return %y : tensor<1x1xf64>
}

func.func @pad(%x: tensor<2x3xf64>) -> tensor<5x4xf64> {
  %y = dlc.pad %x {low = array<i64: 1, 0>, high = array<i64: 2, 1>, interior = array<i64: 0, 0>, value = 1.5 : f64} : (tensor<2x3xf64>) -> tensor<5x4xf64>
  return %y : tensor<5x4xf64>
}

func.func @pad_interior(%x: tensor<2x3xf64>) -> tensor<5x7xf64> {
  %y = dlc.pad %x {low = array<i64: 1, 0>, high = array<i64: 0, 2>, interior = array<i64: 2, 1>, value = 1.5 : f64} : (tensor<2x3xf64>) -> tensor<5x7xf64>
  return %y : tensor<5x7xf64>
}

func.func @concat(%a: tensor<2x1xf64>, %b: tensor<2x3xf64>, %c: tensor<2x2xf64>) -> tensor<2x6xf64> {
  %y = dlc.concat %a, %b, %c {axis = 1 : i64} : (tensor<2x1xf64>, tensor<2x3xf64>, tensor<2x2xf64>) -> tensor<2x6xf64>
  return %y : tensor<2x6xf64>
}

func.func @concat_same(%a: tensor<2x3xf64>) -> tensor<4x3xf64> {
  %y = dlc.concat %a, %a {axis = 0 : i64} : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<4x3xf64>
  return %y : tensor<4x3xf64>
}

func.func @gather(%d: tensor<5x3xf64>, %i: tensor<2x4xi64> {dlc.below = 5 : i64}) -> tensor<2x4x3xf64> {
  %y = dlc.gather %d, %i {axis = 0 : i64} : (tensor<5x3xf64>, tensor<2x4xi64>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @gather_axis(%d: tensor<2x5x3xf64>, %i: tensor<4xi64> {dlc.below = 5 : i64}) -> tensor<2x4x3xf64> {
  %y = dlc.gather %d, %i {axis = 1 : i64} : (tensor<2x5x3xf64>, tensor<4xi64>) -> tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @gather_scalar(%d: tensor<4x3xf64>, %i: tensor<i64> {dlc.below = 4 : i64}) -> tensor<3xf64> {
  %y = dlc.gather %d, %i {axis = 0 : i64} : (tensor<4x3xf64>, tensor<i64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @gather_last(%d: tensor<3x4xf64>, %i: tensor<2x2xi64> {dlc.below = 4 : i64}) -> tensor<3x2x2xf64> {
  %y = dlc.gather %d, %i {axis = 1 : i64} : (tensor<3x4xf64>, tensor<2x2xi64>) -> tensor<3x2x2xf64>
  return %y : tensor<3x2x2xf64>
}

func.func @gather_negative(%d: tensor<4x2xf64>, %i: tensor<3xi64> {dlc.value = dense<[-1, 0, -4]> : tensor<3xi64>}) -> tensor<3x2xf64> {
  %y = dlc.gather %d, %i {axis = 0 : i64} : (tensor<4x2xf64>, tensor<3xi64>) -> tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}

func.func @scatter_add(%i: tensor<4xi64> {dlc.below = 3 : i64}, %u: tensor<4x2xf64>) -> tensor<3x2xf64> {
  %y = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<4xi64>, tensor<4x2xf64>) -> tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}
