// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{(C1) expected the kind state, gradient or scratch}}
exec.region @a "heap" bytes = 4

// -----
// expected-error @+1 {{(C2) expected no fewer than 0 bytes}}
exec.region @a "state" bytes = -4

// -----
exec.region @a "state" bytes = 64
// expected-error @+1 {{(C1) expected a static shape}}
exec.state @w : tensor<?xf32> "param" in @a at 0 init = "w"

// -----
// expected-error @+1 {{(C2) there is no region @a}}
exec.state @w : tensor<4xf32> "param" in @a at 0 init = "w"

// -----
exec.region @a "state" bytes = 64
// expected-error @+1 {{(C2) expected 16 bytes at 56 to lie in the 64 of @a}}
exec.state @w : tensor<4xf32> "param" in @a at 56 init = "w"

// -----
exec.region @a "state" bytes = 64
// expected-error @+1 {{(C3) there is no state @v}}
exec.state @w : tensor<4xf32> "moment" in @a at 0 init = 0 : i64 of = @v

// -----
// expected-error @+1 {{(C1) expected dlc.yield at the end of the body}}
exec.kernel @k {
^bb0(%x: tensor<4xf32>):
  %y = dlc.neg %x : (tensor<4xf32>) -> tensor<4xf32>
}

// -----
// expected-error @+1 {{(C2) expected a grain of one or more, and nothing below zero}}
exec.kernel @k schedule = #exec.schedule<rows, outer = [[0]: 4], grain = 0> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C2) expected a grain of one or more, and nothing below zero}}
exec.kernel @k schedule = #exec.schedule<rows, outer = [[0]: -4]> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C3) loop 1 stands twice}}
exec.kernel @k schedule = #exec.schedule<rows, outer = [[0, 1]: 4], inner = [[1]: 2]> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C4) a block cuts}}
exec.kernel @k schedule = #exec.schedule<rows, outer = [[0]: 4], block = 2> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C4) a block cuts}}
exec.kernel @k schedule = #exec.schedule<columns, inner = [[0]: 4], block = 2> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{expected elementwise, rows, columns or whole}}
exec.kernel @k schedule = #exec.schedule<waves, grain = 1> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{expected outer, inner, block, grain, flops or bytes}}
exec.kernel @k schedule = #exec.schedule<rows, size = 1> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
// expected-error @+1 {{(C1) expected no fewer than 0 bytes}}
exec.program @p scratch = -1 {
  %x = exec.buffer @a at 0 : memref<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
// expected-error @+1 {{(C1) expected a static shape}}
%x = exec.buffer @a at 0 : memref<?xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
// expected-error @+1 {{(C2) there is no region @b}}
%x = exec.buffer @b at 0 : memref<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
// expected-error @+1 {{(C2) expected 16 bytes at 56 to lie in the 64 of @a}}
%x = exec.buffer @a at 56 : memref<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
// expected-error @+1 {{(C2) expected 16 bytes at -4 to lie in the 64 of @a}}
%x = exec.buffer @a at -4 : memref<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
// expected-error @+1 {{(C1) expected the direction input or output}}
exec.port "inout" "x" %x : memref<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
// expected-error @+1 {{(C2) expected a limit of 0 or more}}
exec.port "input" "x" %x {limit = -1 : i64} : memref<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
// expected-error @+1 {{(C1) there is no kernel @f}}
exec.launch @f ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
// expected-error @+1 {{(C2) expected buffers of what @k takes and yields}}
exec.launch @k ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
}
exec.kernel @k {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
%y = exec.buffer @a at 0 : memref<2x2xf32>
// expected-error @+1 {{(C2) expected buffers of what @k takes and yields}}
exec.launch @k ins(%x : memref<4xf32>) outs(%y : memref<2x2xf32>)
}
exec.kernel @k {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
// expected-error @+1 {{(C3) expected both grid and block, or neither}}
exec.launch @k ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {grid = 1 : i64}
}
exec.kernel @k {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
// expected-error @+1 {{(C1) expected 0 or more operations}}
exec.call "matmul" ins(%x : memref<4xf32>) outs(%x : memref<4xf32>) {} {flops = -1 : i64}
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
%y = exec.buffer @a at 0 : memref<2x2xf32>
// expected-error @+1 {{(C1) expected buffers of one type}}
exec.copy %x to %y : memref<4xf32>, memref<2x2xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
// expected-error @+1 {{(C1) expected a bucket of 0 or more}}
exec.all_reduce %x bucket = -1 : memref<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
// expected-error @+1 {{(C1) expected a bucket of 0 or more}}
exec.wait %x bucket = -1 : memref<4xf32>
}
