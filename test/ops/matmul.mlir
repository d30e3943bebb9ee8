// RUN: dlc-gradcheck %s
// Every transposition, batch broadcasting, biases.

func.func @nn(%a: tensor<2x3xf64>, %b: tensor<3x4xf64>, %c: tensor<4xf64>) -> tensor<2x4xf64> {
  %y = dlc.matmul %a, %b, %c : (tensor<2x3xf64>, tensor<3x4xf64>, tensor<4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @nn_batch(%a: tensor<5x2x3xf64>, %b: tensor<5x3x4xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b : (tensor<5x2x3xf64>, tensor<5x3x4xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @nn_weights(%a: tensor<5x2x3xf64>, %b: tensor<3x4xf64>, %c: tensor<4xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b, %c : (tensor<5x2x3xf64>, tensor<3x4xf64>, tensor<4xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @nn_left(%a: tensor<2x3xf64>, %b: tensor<5x3x4xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b : (tensor<2x3xf64>, tensor<5x3x4xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @nn_broadcast(%a: tensor<2x1x2x3xf64>, %b: tensor<5x3x4xf64>, %c: tensor<4xf64>) -> tensor<2x5x2x4xf64> {
  %y = dlc.matmul %a, %b, %c : (tensor<2x1x2x3xf64>, tensor<5x3x4xf64>, tensor<4xf64>) -> tensor<2x5x2x4xf64>
  return %y : tensor<2x5x2x4xf64>
}

func.func @nt(%a: tensor<2x3xf64>, %b: tensor<4x3xf64>, %c: tensor<4xf64>) -> tensor<2x4xf64> {
  %y = dlc.matmul %a, %b, %c {trans_b} : (tensor<2x3xf64>, tensor<4x3xf64>, tensor<4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @nt_batch(%a: tensor<5x2x3xf64>, %b: tensor<5x4x3xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b {trans_b} : (tensor<5x2x3xf64>, tensor<5x4x3xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @nt_weights(%a: tensor<5x2x3xf64>, %b: tensor<4x3xf64>, %c: tensor<4xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b, %c {trans_b} : (tensor<5x2x3xf64>, tensor<4x3xf64>, tensor<4xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @nt_left(%a: tensor<2x3xf64>, %b: tensor<5x4x3xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b {trans_b} : (tensor<2x3xf64>, tensor<5x4x3xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @nt_broadcast(%a: tensor<2x1x2x3xf64>, %b: tensor<5x4x3xf64>, %c: tensor<4xf64>) -> tensor<2x5x2x4xf64> {
  %y = dlc.matmul %a, %b, %c {trans_b} : (tensor<2x1x2x3xf64>, tensor<5x4x3xf64>, tensor<4xf64>) -> tensor<2x5x2x4xf64>
  return %y : tensor<2x5x2x4xf64>
}

func.func @tn(%a: tensor<3x2xf64>, %b: tensor<3x4xf64>, %c: tensor<4xf64>) -> tensor<2x4xf64> {
  %y = dlc.matmul %a, %b, %c {trans_a} : (tensor<3x2xf64>, tensor<3x4xf64>, tensor<4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @tn_batch(%a: tensor<5x3x2xf64>, %b: tensor<5x3x4xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b {trans_a} : (tensor<5x3x2xf64>, tensor<5x3x4xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @tn_weights(%a: tensor<5x3x2xf64>, %b: tensor<3x4xf64>, %c: tensor<4xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b, %c {trans_a} : (tensor<5x3x2xf64>, tensor<3x4xf64>, tensor<4xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @tn_left(%a: tensor<3x2xf64>, %b: tensor<5x3x4xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b {trans_a} : (tensor<3x2xf64>, tensor<5x3x4xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @tn_broadcast(%a: tensor<2x1x3x2xf64>, %b: tensor<5x3x4xf64>, %c: tensor<4xf64>) -> tensor<2x5x2x4xf64> {
  %y = dlc.matmul %a, %b, %c {trans_a} : (tensor<2x1x3x2xf64>, tensor<5x3x4xf64>, tensor<4xf64>) -> tensor<2x5x2x4xf64>
  return %y : tensor<2x5x2x4xf64>
}

func.func @tt(%a: tensor<3x2xf64>, %b: tensor<4x3xf64>, %c: tensor<4xf64>) -> tensor<2x4xf64> {
  %y = dlc.matmul %a, %b, %c {trans_a, trans_b} : (tensor<3x2xf64>, tensor<4x3xf64>, tensor<4xf64>) -> tensor<2x4xf64>
  return %y : tensor<2x4xf64>
}

func.func @tt_batch(%a: tensor<5x3x2xf64>, %b: tensor<5x4x3xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b {trans_a, trans_b} : (tensor<5x3x2xf64>, tensor<5x4x3xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @tt_weights(%a: tensor<5x3x2xf64>, %b: tensor<4x3xf64>, %c: tensor<4xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b, %c {trans_a, trans_b} : (tensor<5x3x2xf64>, tensor<4x3xf64>, tensor<4xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @tt_left(%a: tensor<3x2xf64>, %b: tensor<5x4x3xf64>) -> tensor<5x2x4xf64> {
  %y = dlc.matmul %a, %b {trans_a, trans_b} : (tensor<3x2xf64>, tensor<5x4x3xf64>) -> tensor<5x2x4xf64>
  return %y : tensor<5x2x4xf64>
}

func.func @tt_broadcast(%a: tensor<2x1x3x2xf64>, %b: tensor<5x4x3xf64>, %c: tensor<4xf64>) -> tensor<2x5x2x4xf64> {
  %y = dlc.matmul %a, %b, %c {trans_a, trans_b} : (tensor<2x1x3x2xf64>, tensor<5x4x3xf64>, tensor<4xf64>) -> tensor<2x5x2x4xf64>
  return %y : tensor<2x5x2x4xf64>
}

func.func @deep_weights(%a: tensor<2x2x2x3xf64>, %b: tensor<3x4xf64>) -> tensor<2x2x2x4xf64> {
  %y = dlc.matmul %a, %b : (tensor<2x2x2x3xf64>, tensor<3x4xf64>) -> tensor<2x2x2x4xf64>
  return %y : tensor<2x2x2x4xf64>
}

func.func @bf16(%a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>, %c: tensor<4xbf16>) -> tensor<2x4xbf16> {
  %y = dlc.matmul %a, %b, %c : (tensor<2x3xbf16>, tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}

// Rows by the matrix of their group; a group without rows, and numbers that count from the end.
func.func @grouped(%x: tensor<5x3xf64>, %w: tensor<4x3x2xf64>, %i: tensor<5xi64> {dlc.value = dense<[2, 0, -2, 3, 0]> : tensor<5xi64>}) -> tensor<5x2xf64> {
  %y = dlc.grouped_matmul %x, %w, %i : (tensor<5x3xf64>, tensor<4x3x2xf64>, tensor<5xi64>) -> tensor<5x2xf64>
  return %y : tensor<5x2xf64>
}

func.func @grouped_transposed(%x: tensor<5x3xf64>, %w: tensor<4x2x3xf64>, %i: tensor<5xi64> {dlc.below = 4 : i64}) -> tensor<5x2xf64> {
  %y = dlc.grouped_matmul %x, %w, %i {trans_w} : (tensor<5x3xf64>, tensor<4x2x3xf64>, tensor<5xi64>) -> tensor<5x2xf64>
  return %y : tensor<5x2xf64>
}

func.func @grouped_weight(%x: tensor<5x3xf64>, %y: tensor<5x2xf64>, %i: tensor<5xi64> {dlc.below = 4 : i64}) -> tensor<4x3x2xf64> {
  %w = dlc.grouped_matmul_backward_weight %x, %y, %i : (tensor<5x3xf64>, tensor<5x2xf64>, tensor<5xi64>) -> tensor<4x3x2xf64>
  return %w : tensor<4x3x2xf64>
}

func.func @grouped_weight_transposed(%x: tensor<5x3xf64>, %y: tensor<5x2xf64>, %i: tensor<5xi64> {dlc.below = 4 : i64}) -> tensor<4x2x3xf64> {
  %w = dlc.grouped_matmul_backward_weight %x, %y, %i {trans_w} : (tensor<5x3xf64>, tensor<5x2xf64>, tensor<5xi64>) -> tensor<4x2x3xf64>
  return %w : tensor<4x2x3xf64>
}
