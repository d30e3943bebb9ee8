// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<5x2x12xf32>, %r: tensor<13x3xf32>, %h0: tensor<2x3xf32>, %c0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected one step or more and weights of 4 gates}}
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<5x2x12xf32>, tensor<13x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x12x1xf32>, %r: tensor<12x3xf32>, %h0: tensor<2x3xf32>, %c0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected a sequence of rank 3 and weights of rank 2}}
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<5x2x12x1xf32>, tensor<12x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<0x2x12xf32>, %r: tensor<12x3xf32>, %h0: tensor<2x3xf32>, %c0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected one step or more and weights of 4 gates}}
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<0x2x12xf32>, tensor<12x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x12xf32>, %r: tensor<12x3xf32>, %h0: tensor<2x4xf32>, %c0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 2x3}}
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<5x2x12xf32>, tensor<12x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x12xf32>, %r: tensor<12x3xf32>, %h0: tensor<2x3xf32>, %c0: tensor<2x3xf32>, %valid: tensor<5x3xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected shape 5x2}}
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0, %valid : (tensor<5x2x12xf32>, tensor<12x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<5x3xi1>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x12xf32>, %r: tensor<12x3xf64>, %h0: tensor<2x3xf32>, %c0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected operands of one element type}}
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<5x2x12xf32>, tensor<12x3xf64>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x9xf32>, %r: tensor<10x3xf32>, %bias: tensor<3xf32>, %h0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected one step or more and weights of 3 gates}}
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 : (tensor<5x2x9xf32>, tensor<10x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x9x1xf32>, %r: tensor<9x3xf32>, %bias: tensor<3xf32>, %h0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected a sequence of rank 3 and weights of rank 2}}
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 : (tensor<5x2x9x1xf32>, tensor<9x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<0x2x9xf32>, %r: tensor<9x3xf32>, %bias: tensor<3xf32>, %h0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected one step or more and weights of 3 gates}}
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 : (tensor<0x2x9xf32>, tensor<9x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x9xf32>, %r: tensor<9x3xf32>, %bias: tensor<3xf32>, %h0: tensor<2x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 2x3}}
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 : (tensor<5x2x9xf32>, tensor<9x3xf32>, tensor<3xf32>, tensor<2x4xf32>) -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x9xf32>, %r: tensor<9x3xf32>, %bias: tensor<3xf32>, %h0: tensor<2x3xf32>, %valid: tensor<5x3xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected shape 5x2}}
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0, %valid : (tensor<5x2x9xf32>, tensor<9x3xf32>, tensor<3xf32>, tensor<2x3xf32>, tensor<5x3xi1>) -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x9xf32>, %r: tensor<9x3xf64>, %bias: tensor<3xf32>, %h0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected operands of one element type}}
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 : (tensor<5x2x9xf32>, tensor<9x3xf64>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x3xf32>, %r: tensor<4x3xf32>, %h0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected one step or more and weights of 1 gates}}
  %r0 = dlc.rnn %x, %r, %h0 : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<5x2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<5x2x3x1xf32>, %r: tensor<3x3xf32>, %h0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected a sequence of rank 3 and weights of rank 2}}
  %r0 = dlc.rnn %x, %r, %h0 : (tensor<5x2x3x1xf32>, tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<5x2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<0x2x3xf32>, %r: tensor<3x3xf32>, %h0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected one step or more and weights of 1 gates}}
  %r0 = dlc.rnn %x, %r, %h0 : (tensor<0x2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<5x2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<5x2x3xf32>, %r: tensor<3x3xf32>, %h0: tensor<2x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 2x3}}
  %r0 = dlc.rnn %x, %r, %h0 : (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<2x4xf32>) -> tensor<5x2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<5x2x3xf32>, %r: tensor<3x3xf32>, %h0: tensor<2x3xf32>, %valid: tensor<5x3xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected shape 5x2}}
  %r0 = dlc.rnn %x, %r, %h0, %valid : (tensor<5x2x3xf32>, tensor<3x3xf32>, tensor<2x3xf32>, tensor<5x3xi1>) -> tensor<5x2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<5x2x3xf32>, %r: tensor<3x3xf64>, %h0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected operands of one element type}}
  %r0 = dlc.rnn %x, %r, %h0 : (tensor<5x2x3xf32>, tensor<3x3xf64>, tensor<2x3xf32>) -> tensor<5x2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<5x2x12xf32>, %r: tensor<12x3xf32>, %h0: tensor<2x3xf32>, %c0: tensor<3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 2x3}}
  %r0, %r1, %r2 = dlc.lstm %x, %r, %h0, %c0 : (tensor<5x2x12xf32>, tensor<12x3xf32>, tensor<2x3xf32>, tensor<3x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<5x2x9xf32>, %r: tensor<9x3xf32>, %bias: tensor<4xf32>, %h0: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 3}}
  %r0, %r1 = dlc.gru %x, %r, %bias, %h0 : (tensor<5x2x9xf32>, tensor<9x3xf32>, tensor<4xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>)
  return
}

// -----

func.func @f(%dh: tensor<5x2x3xf32>, %dc: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xf32>, %c: tensor<5x2x3xf32>, %c0: tensor<2x3xf32>, %r: tensor<13x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected one step or more and weights of 4 gates}}
  %r0, %r1, %r2 = dlc.lstm_backward %dh, %dc, %gates, %c, %c0, %r : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<13x3xf32>) -> (tensor<5x2x12xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%dh: tensor<5x2x3xf32>, %dc: tensor<5x2x3xf32>, %gates: tensor<3x5x2x3xf32>, %c: tensor<5x2x3xf32>, %c0: tensor<2x3xf32>, %r: tensor<12x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 4x5x2x3}}
  %r0, %r1, %r2 = dlc.lstm_backward %dh, %dc, %gates, %c, %c0, %r : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<3x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<12x3xf32>) -> (tensor<5x2x12xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%dh: tensor<5x2x3xf32>, %dc: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xf32>, %c: tensor<5x2x3xf32>, %c0: tensor<2x3xf32>, %r: tensor<12x3xf32>, %valid: tensor<5x3xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected shape 5x2}}
  %r0, %r1, %r2 = dlc.lstm_backward %dh, %dc, %gates, %c, %c0, %r, %valid : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<12x3xf32>, tensor<5x3xi1>) -> (tensor<5x2x12xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%dh: tensor<5x2x3xf32>, %dc: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xf32>, %c: tensor<5x2x3xf32>, %c0: tensor<2x3xf32>, %r: tensor<12x3xf64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected operands of one element type}}
  %r0, %r1, %r2 = dlc.lstm_backward %dh, %dc, %gates, %c, %c0, %r : (tensor<5x2x3xf32>, tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<12x3xf64>) -> (tensor<5x2x12xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%dh: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xf32>, %h: tensor<5x2x3xf32>, %h0: tensor<2x3xf32>, %r: tensor<10x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected one step or more and weights of 3 gates}}
  %r0, %r1, %r2 = dlc.gru_backward %dh, %gates, %h, %h0, %r : (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<10x3xf32>) -> (tensor<5x2x9xf32>, tensor<5x2x9xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%dh: tensor<5x2x3xf32>, %gates: tensor<3x5x2x3xf32>, %h: tensor<5x2x3xf32>, %h0: tensor<2x3xf32>, %r: tensor<9x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 4x5x2x3}}
  %r0, %r1, %r2 = dlc.gru_backward %dh, %gates, %h, %h0, %r : (tensor<5x2x3xf32>, tensor<3x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>) -> (tensor<5x2x9xf32>, tensor<5x2x9xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%dh: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xf32>, %h: tensor<5x2x3xf32>, %h0: tensor<2x3xf32>, %r: tensor<9x3xf32>, %valid: tensor<5x3xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected shape 5x2}}
  %r0, %r1, %r2 = dlc.gru_backward %dh, %gates, %h, %h0, %r, %valid : (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<9x3xf32>, tensor<5x3xi1>) -> (tensor<5x2x9xf32>, tensor<5x2x9xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%dh: tensor<5x2x3xf32>, %gates: tensor<4x5x2x3xf32>, %h: tensor<5x2x3xf32>, %h0: tensor<2x3xf32>, %r: tensor<9x3xf64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected operands of one element type}}
  %r0, %r1, %r2 = dlc.gru_backward %dh, %gates, %h, %h0, %r : (tensor<5x2x3xf32>, tensor<4x5x2x3xf32>, tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<9x3xf64>) -> (tensor<5x2x9xf32>, tensor<5x2x9xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%dh: tensor<5x2x3xf32>, %h: tensor<5x2x4xf32>, %r: tensor<3x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 5x2x3}}
  %r0, %r1 = dlc.rnn_backward %dh, %h, %r : (tensor<5x2x3xf32>, tensor<5x2x4xf32>, tensor<3x3xf32>) -> (tensor<5x2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%e: tensor<5x2x2xf32>, %jumps: tensor<2x7xi1>, %valid: tensor<5x2xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected a step or more of rows of three places or more}}
  %r0, %r1 = dlc.ctc_paths %e, %jumps, %valid : (tensor<5x2x2xf32>, tensor<2x7xi1>, tensor<5x2xi1>) -> (tensor<2x7xf32>, tensor<5x2x7xf32>)
  return
}

// -----

func.func @f(%e: tensor<5x2x7xf32>, %jumps: tensor<2x6xi1>, %valid: tensor<5x2xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 2x7}}
  %r0, %r1 = dlc.ctc_paths %e, %jumps, %valid : (tensor<5x2x7xf32>, tensor<2x6xi1>, tensor<5x2xi1>) -> (tensor<2x7xf32>, tensor<5x2x7xf32>)
  return
}

// -----

func.func @f(%e: tensor<5x2x7xf32>, %jumps: tensor<2x7xi1>, %valid: tensor<4x2xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected shape 5x2}}
  %r0, %r1 = dlc.ctc_paths %e, %jumps, %valid : (tensor<5x2x7xf32>, tensor<2x7xi1>, tensor<4x2xi1>) -> (tensor<2x7xf32>, tensor<5x2x7xf32>)
  return
}

// -----

func.func @f(%d: tensor<2x7xf32>, %e: tensor<5x2xf32>, %all: tensor<5x2x7xf32>, %jumps: tensor<2x7xi1>, %valid: tensor<5x2xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected a step or more of rows of three places or more}}
  %r0 = dlc.ctc_paths_backward %d, %e, %all, %jumps, %valid : (tensor<2x7xf32>, tensor<5x2xf32>, tensor<5x2x7xf32>, tensor<2x7xi1>, tensor<5x2xi1>) -> tensor<5x2x7xf32>
  return
}

// -----

func.func @f(%d: tensor<2x6xf32>, %e: tensor<5x2x7xf32>, %all: tensor<5x2x7xf32>, %jumps: tensor<2x7xi1>, %valid: tensor<5x2xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected shape 2x7}}
  %r0 = dlc.ctc_paths_backward %d, %e, %all, %jumps, %valid : (tensor<2x6xf32>, tensor<5x2x7xf32>, tensor<5x2x7xf32>, tensor<2x7xi1>, tensor<5x2xi1>) -> tensor<5x2x7xf32>
  return
}

// -----

func.func @f(%d: tensor<2x7xf32>, %e: tensor<5x2x7xf32>, %all: tensor<5x2x7xf32>, %jumps: tensor<2x7xi1>, %valid: tensor<4x2xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected shape 5x2}}
  %r0 = dlc.ctc_paths_backward %d, %e, %all, %jumps, %valid : (tensor<2x7xf32>, tensor<5x2x7xf32>, tensor<5x2x7xf32>, tensor<2x7xi1>, tensor<4x2xi1>) -> tensor<5x2x7xf32>
  return
}

// -----

func.func @f(%d: tensor<2x7xf32>, %e: tensor<5x2x7xf32>, %all: tensor<4x2x7xf32>, %jumps: tensor<2x7xi1>, %valid: tensor<5x2xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected shape 5x2x7}}
  %r0 = dlc.ctc_paths_backward %d, %e, %all, %jumps, %valid : (tensor<2x7xf32>, tensor<5x2x7xf32>, tensor<4x2x7xf32>, tensor<2x7xi1>, tensor<5x2xi1>) -> tensor<5x2x7xf32>
  return
}

// -----

func.func @f(%d: tensor<2x7xf32>, %e: tensor<5x2x7xf32>, %all: tensor<5x2x7xf64>, %jumps: tensor<2x7xi1>, %valid: tensor<5x2xi1>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C5) expected operands of one element type}}
  %r0 = dlc.ctc_paths_backward %d, %e, %all, %jumps, %valid : (tensor<2x7xf32>, tensor<5x2x7xf32>, tensor<5x2x7xf64>, tensor<2x7xi1>, tensor<5x2xi1>) -> tensor<5x2x7xf32>
  return
}
