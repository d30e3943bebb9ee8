// RUN: dlc-gradcheck %s
// Each layer both ways, with steps that do not count, and of one step; the cell's states as results, too.

func.func @lstm(%x: tensor<3x2x12xf64>, %r: tensor<12x3xf64>, %h0: tensor<2x3xf64>, %c0: tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>) {
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<3x2x12xf64>, tensor<12x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0, %r1 : tensor<3x2x3xf64>, tensor<3x2x3xf64>
}

func.func @lstm_masked(%x: tensor<3x2x12xf64>, %r: tensor<12x3xf64>, %h0: tensor<2x3xf64>, %c0: tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>) {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0, %valid : (tensor<3x2x12xf64>, tensor<12x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0, %r1 : tensor<3x2x3xf64>, tensor<3x2x3xf64>
}

func.func @lstm_reverse(%x: tensor<3x2x12xf64>, %r: tensor<12x3xf64>, %h0: tensor<2x3xf64>, %c0: tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>) {
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 {reverse} : (tensor<3x2x12xf64>, tensor<12x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0, %r1 : tensor<3x2x3xf64>, tensor<3x2x3xf64>
}

func.func @lstm_reverse_masked(%x: tensor<3x2x12xf64>, %r: tensor<12x3xf64>, %h0: tensor<2x3xf64>, %c0: tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>) {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0, %valid {reverse} : (tensor<3x2x12xf64>, tensor<12x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0, %r1 : tensor<3x2x3xf64>, tensor<3x2x3xf64>
}

func.func @gru(%x: tensor<3x2x9xf64>, %r: tensor<9x3xf64>, %bias: tensor<3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 : (tensor<3x2x9xf64>, tensor<9x3xf64>, tensor<3xf64>, tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @gru_masked(%x: tensor<3x2x9xf64>, %r: tensor<9x3xf64>, %bias: tensor<3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0, %valid : (tensor<3x2x9xf64>, tensor<9x3xf64>, tensor<3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> (tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @gru_reverse(%x: tensor<3x2x9xf64>, %r: tensor<9x3xf64>, %bias: tensor<3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 {reverse} : (tensor<3x2x9xf64>, tensor<9x3xf64>, tensor<3xf64>, tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @gru_reverse_masked(%x: tensor<3x2x9xf64>, %r: tensor<9x3xf64>, %bias: tensor<3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0, %valid {reverse} : (tensor<3x2x9xf64>, tensor<9x3xf64>, tensor<3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> (tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @gru_reset_after(%x: tensor<3x2x9xf64>, %r: tensor<9x3xf64>, %bias: tensor<3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 {reset_after} : (tensor<3x2x9xf64>, tensor<9x3xf64>, tensor<3xf64>, tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @gru_reset_after_masked(%x: tensor<3x2x9xf64>, %r: tensor<9x3xf64>, %bias: tensor<3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0, %valid {reset_after} : (tensor<3x2x9xf64>, tensor<9x3xf64>, tensor<3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> (tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @gru_reset_after_reverse(%x: tensor<3x2x9xf64>, %r: tensor<9x3xf64>, %bias: tensor<3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 {reset_after, reverse} : (tensor<3x2x9xf64>, tensor<9x3xf64>, tensor<3xf64>, tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @gru_reset_after_reverse_masked(%x: tensor<3x2x9xf64>, %r: tensor<9x3xf64>, %bias: tensor<3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0, %valid {reset_after, reverse} : (tensor<3x2x9xf64>, tensor<9x3xf64>, tensor<3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> (tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @rnn(%x: tensor<3x2x3xf64>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %r0 = dlc.rnn %x, %r, %h0 : (tensor<3x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<3x2x3xf64>
  return %r0 : tensor<3x2x3xf64>
}

func.func @rnn_masked(%x: tensor<3x2x3xf64>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0 = dlc.rnn %x, %r, %h0, %valid : (tensor<3x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> tensor<3x2x3xf64>
  return %r0 : tensor<3x2x3xf64>
}

func.func @rnn_reverse(%x: tensor<3x2x3xf64>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %r0 = dlc.rnn %x, %r, %h0 {reverse} : (tensor<3x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<3x2x3xf64>
  return %r0 : tensor<3x2x3xf64>
}

func.func @rnn_reverse_masked(%x: tensor<3x2x3xf64>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0 = dlc.rnn %x, %r, %h0, %valid {reverse} : (tensor<3x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> tensor<3x2x3xf64>
  return %r0 : tensor<3x2x3xf64>
}

func.func @rnn_relu(%x: tensor<3x2x3xf64>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %r0 = dlc.rnn %x, %r, %h0 {relu} : (tensor<3x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<3x2x3xf64>
  return %r0 : tensor<3x2x3xf64>
}

func.func @rnn_relu_masked(%x: tensor<3x2x3xf64>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0 = dlc.rnn %x, %r, %h0, %valid {relu} : (tensor<3x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> tensor<3x2x3xf64>
  return %r0 : tensor<3x2x3xf64>
}

func.func @rnn_relu_reverse(%x: tensor<3x2x3xf64>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %r0 = dlc.rnn %x, %r, %h0 {relu, reverse} : (tensor<3x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<3x2x3xf64>
  return %r0 : tensor<3x2x3xf64>
}

func.func @rnn_relu_reverse_masked(%x: tensor<3x2x3xf64>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %valid = dlc.constant dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>
  %r0 = dlc.rnn %x, %r, %h0, %valid {relu, reverse} : (tensor<3x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>, tensor<3x2xi1>) -> tensor<3x2x3xf64>
  return %r0 : tensor<3x2x3xf64>
}

func.func @lstm_one_step(%x: tensor<1x2x12xf64>, %r: tensor<12x3xf64>, %h0: tensor<2x3xf64>, %c0: tensor<2x3xf64>) -> (tensor<1x2x3xf64>, tensor<1x2x3xf64>) {
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<1x2x12xf64>, tensor<12x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>) -> (tensor<1x2x3xf64>, tensor<1x2x3xf64>, tensor<4x1x2x3xf64>)
  return %r0, %r1 : tensor<1x2x3xf64>, tensor<1x2x3xf64>
}

func.func @lstm_cells(%x: tensor<3x2x12xf64>, %r: tensor<12x3xf64>, %h0: tensor<2x3xf64>, %c0: tensor<2x3xf64>) -> tensor<3x2x3xf64> {
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<3x2x12xf64>, tensor<12x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r1 : tensor<3x2x3xf64>
}

func.func @lstm_from_zero(%x: tensor<3x2x12xf64>, %r: tensor<12x3xf64>) -> tensor<3x2x3xf64> {
  %h0 = dlc.constant dense<0.000000e+00> : tensor<2x3xf64>
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %h0 : (tensor<3x2x12xf64>, tensor<12x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @gru_from_zero(%x: tensor<3x2x9xf64>, %r: tensor<9x3xf64>, %bias: tensor<3xf64>) -> tensor<3x2x3xf64> {
  %h0 = dlc.constant dense<0.000000e+00> : tensor<2x3xf64>
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 : (tensor<3x2x9xf64>, tensor<9x3xf64>, tensor<3xf64>, tensor<2x3xf64>) -> (tensor<3x2x3xf64>, tensor<4x3x2x3xf64>)
  return %r0 : tensor<3x2x3xf64>
}

func.func @rnn_from_zero(%x: tensor<3x2x3xf64>, %r: tensor<3x3xf64>) -> tensor<3x2x3xf64> {
  %h0 = dlc.constant dense<0.000000e+00> : tensor<2x3xf64>
  %r0 = dlc.rnn %x, %r, %h0 : (tensor<3x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>) -> tensor<3x2x3xf64>
  return %r0 : tensor<3x2x3xf64>
}

// three steps of the first row reach every place but the last, five all of them
func.func @ctc_paths(%e: tensor<5x2x5xf64>) -> tensor<2x5xf64> {
  %jumps = dlc.constant dense<[[false, false, false, true, false], [false, false, false, false, false]]> : tensor<2x5xi1>
  %valid = dlc.constant dense<[[true, true], [true, true], [true, true], [false, true], [false, true]]> : tensor<5x2xi1>
  %last, %all = dlc.ctc_paths %e, %jumps, %valid : (tensor<5x2x5xf64>, tensor<2x5xi1>, tensor<5x2xi1>) -> (tensor<2x5xf64>, tensor<5x2x5xf64>)
  return %last : tensor<2x5xf64>
}

func.func @ctc_paths_of_the_first_place(%e: tensor<2x1x3xf64>) -> tensor<1x2xf64> {
  %jumps = dlc.constant dense<false> : tensor<1x3xi1>
  %valid = dlc.constant dense<true> : tensor<2x1xi1>
  %last, %all = dlc.ctc_paths %e, %jumps, %valid : (tensor<2x1x3xf64>, tensor<1x3xi1>, tensor<2x1xi1>) -> (tensor<1x3xf64>, tensor<2x1x3xf64>)
  %some = dlc.slice %last {starts = array<i64: 0, 0>, sizes = array<i64: 1, 2>, steps = array<i64: 1, 1>} : (tensor<1x3xf64>) -> tensor<1x2xf64>
  return %some : tensor<1x2xf64>
}
