// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @recurrence0(%x: tensor<5x2x12xf32>, %r: tensor<12x3xf32>, %h0: tensor<2x3xf32>, %c0: tensor<2x3xf32>) {
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<5x2x12xf32>, tensor<12x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}
func.func @recurrence1(%x: tensor<5x2x12xf16>, %r: tensor<12x3xf16>, %h0: tensor<2x3xf16>, %c0: tensor<2x3xf32>, %valid: tensor<5x2xi1>) {
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0, %valid {reverse} : (tensor<5x2x12xf16>, tensor<12x3xf16>, tensor<2x3xf16>, tensor<2x3xf32>, tensor<5x2xi1>) -> (tensor<5x2x3xf16>, tensor<5x2x3xf32>, tensor<4x5x2x3xf16>)
  return
}
func.func @recurrence2(%dh: tensor<5x2x3xf32>, %dc: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xf32>, %c: tensor<5x2x3xf32>, %c0: tensor<2x3xf32>, %r: tensor<12x3xf32>) {
  %r0, %r1, %r2 = dlc.lstm_backward %dh, %dc, %gates, %c, %c0, %r : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<12x3xf32>) -> (tensor<5x2x12xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}
func.func @recurrence3(%dh: tensor<5x2x3xbf16>, %dc: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xbf16>, %c: tensor<5x2x3xf32>, %c0: tensor<2x3xf32>, %r: tensor<12x3xbf16>, %valid: tensor<5x2xi1>) {
  %r0, %r1, %r2 = dlc.lstm_backward %dh, %dc, %gates, %c, %c0, %r, %valid {reverse} : (tensor<5x2x3xbf16>, tensor<5x2x3xf32>, tensor<4x5x2x3xbf16>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<12x3xbf16>, tensor<5x2xi1>) -> (tensor<5x2x12xbf16>, tensor<2x3xbf16>, tensor<2x3xf32>)
  return
}
func.func @recurrence4(%x: tensor<5x2x9xf32>, %r: tensor<9x3xf32>, %bias: tensor<3xf32>, %h0: tensor<2x3xf32>) {
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 : (tensor<5x2x9xf32>, tensor<9x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}
func.func @recurrence5(%x: tensor<5x2x9xf32>, %r: tensor<9x3xf32>, %bias: tensor<3xf32>, %h0: tensor<2x3xf32>, %valid: tensor<5x2xi1>) {
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0, %valid {reset_after, reverse} : (tensor<5x2x9xf32>, tensor<9x3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<5x2xi1>) -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}
func.func @recurrence6(%dh: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xf32>, %h: tensor<5x2x3xf32>, %h0: tensor<2x3xf32>, %r: tensor<9x3xf32>) {
  %r0, %r1, %r2 = dlc.gru_backward %dh, %gates, %h, %h0, %r {reverse} : (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>) -> (tensor<5x2x9xf32>, tensor<5x2x9xf32>, tensor<2x3xf32>)
  return
}
func.func @recurrence7(%dh: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xf32>, %h: tensor<5x2x3xf32>, %h0: tensor<2x3xf32>, %r: tensor<9x3xf32>, %valid: tensor<5x2xi1>) {
  %r0, %r1, %r2 = dlc.gru_backward %dh, %gates, %h, %h0, %r, %valid {reset_after} : (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<5x2xi1>) -> (tensor<5x2x9xf32>, tensor<5x2x9xf32>, tensor<2x3xf32>)
  return
}
func.func @recurrence8(%x: tensor<5x2x3xf32>, %r: tensor<3x3xf32>, %h0: tensor<2x3xf32>) {
  %r0 = dlc.rnn %x, %r, %h0 {relu} : (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<5x2x3xf32>
  return
}
func.func @recurrence9(%x: tensor<5x2x3xf64>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf64>, %valid: tensor<5x2xi1>) {
  %r0 = dlc.rnn %x, %r, %h0, %valid {reverse} : (tensor<5x2x3xf64>, tensor<3x3xf64>, tensor<2x3xf64>, tensor<5x2xi1>) -> tensor<5x2x3xf64>
  return
}
func.func @recurrence10(%dh: tensor<5x2x3xf32>, %h: tensor<5x2x3xf32>, %r: tensor<3x3xf32>) {
  %r0, %r1 = dlc.rnn_backward %dh, %h, %r : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<3x3xf32>) -> (tensor<5x2x3xf32>, tensor<2x3xf32>)
  return
}
func.func @recurrence11(%dh: tensor<5x2x3xf32>, %h: tensor<5x2x3xf32>, %r: tensor<3x3xf32>, %valid: tensor<5x2xi1>) {
  %r0, %r1 = dlc.rnn_backward %dh, %h, %r, %valid {relu, reverse} : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<5x2xi1>) -> (tensor<5x2x3xf32>, tensor<2x3xf32>)
  return
}
func.func @ctc0(%e: tensor<5x2x7xf32>, %jumps: tensor<2x7xi1>, %valid: tensor<5x2xi1>) {
  %r0, %r1 = dlc.ctc_paths %e, %jumps, %valid : (tensor<5x2x7xf32>, tensor<2x7xi1>, tensor<5x2xi1>) -> (tensor<2x7xf32>, tensor<5x2x7xf32>)
  return
}
func.func @ctc1(%d: tensor<2x7xf64>, %e: tensor<5x2x7xf64>, %jumps: tensor<2x7xi1>, %valid: tensor<5x2xi1>) {
  %r0 = dlc.ctc_paths_backward %d, %e, %e, %jumps, %valid : (tensor<2x7xf64>, tensor<5x2x7xf64>, tensor<5x2x7xf64>, tensor<2x7xi1>, tensor<5x2xi1>) -> tensor<5x2x7xf64>
  return
}
