// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{(C1) expected the kind state, gradient, scratch or host}}
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
exec.region @a "state" bytes = 64
// expected-error @+1 {{(C1) expected a range of a region, found 64 bytes at 4 of @a}}
exec.part @a at 4 bytes = 64 item = 16 extent = 4

// -----
exec.region @a "state" bytes = 64
// expected-error @+1 {{(C2) expected 64 bytes in 3 items of 16}}
exec.part @a at 0 bytes = 64 item = 16 extent = 3

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
// expected-error @+1 {{(C3) loop 1 occurs twice}}
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
// expected-error @+1 {{(C5) expected threads side by side and in a block, and nothing below zero}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<grid = -1> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C5) expected threads side by side and in a block, and nothing below zero}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<block = 0> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C5) expected threads side by side and in a block, and nothing below zero}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<across = 0> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C5) expected threads side by side and in a block, and nothing below zero}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<chunks = -1> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C6) expected vectors of a power of two, and an index of 32 or 64 bits}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<vector = 3> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C6) expected vectors of a power of two, and an index of 32 or 64 bits}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<index = 16> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C6) expected vectors of a power of two, and an index of 32 or 64 bits}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<block = 32, tile = 8x8x8, warps = 1x1, left = depth x 6, right = outer x 8> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C7) expected one of registers, sparse, transposed and tile}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<registers, sparse> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C7) expected one of registers, sparse, transposed and tile}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<transposed = 0, tile = 64x16> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C8) expected a tile of}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<tile = 64x16x8> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C8) expected a tile of}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<tile = 64x16, left = depth x 8, right = depth x 8> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C8) expected a tile of}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<tile = 64x16x8, right = depth x 8> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C8) expected a tile of}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<block = 100, tile = 64x16, warps = 3x1> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C8) expected a tile of}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<tile = 64x0> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C8) expected a tile of}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<tile = 64x16, slots = 0> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C8) expected a tile of}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<tile = 64x16, warps = 0x1> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C9) has threads without a schedule}}
exec.kernel @k threads = #exec.threads<grid = 1> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C10) expected one exec.last}}
exec.kernel @k {
^bb0(%x: tensor<4xf32>):
  exec.last
  exec.last
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C10) expected one exec.last, behind which outputs are read, or parts beside each other}}
exec.kernel @k {
^bb0(%x: tensor<4xf32>):
  %0 = dlc.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  exec.last
  %1 = dlc.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  dlc.yield %1 : tensor<4xf32>
}

// -----
// expected-error @+1 {{(C10) expected one exec.last}}
exec.kernel @k {
^bb0(%x: tensor<4xf32>):
  %0 = dlc.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  exec.beside
  %1 = dlc.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  dlc.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----
// expected-error @+1 {{(C10) expected one exec.last}}
exec.kernel @k {
^bb0(%x: tensor<4xf32>):
  exec.beside
  exec.last
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{expected grid, block, vector, across, chunks, index, registers, sparse, transposed, tile, warps, slots, left or right, found 'warp'}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<grid = 1, warp = 3> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{expected depth or outer, found 'row'}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<left = row x 8> {
^bb0(%x: tensor<4xf32>):
  dlc.yield %x : tensor<4xf32>
}

// -----
// expected-error @+1 {{expected warps down and across, as 4x2}}
exec.kernel @k schedule = #exec.schedule<rows> threads = #exec.threads<warps = 4> {
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
// expected-error @+1 {{(C3) expected a limit beside from_end}}
exec.port "input" "x" %x {from_end} : memref<4xf32>
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
// expected-error @+1 {{(C2) expected mean or sum, found max}}
exec.all_reduce %x bucket = 0 op = "max" : memref<4xf32>
}

// -----
exec.region @a "scratch" bytes = 64
exec.program @p scratch = 0 {
%x = exec.buffer @a at 0 : memref<4xf32>
// expected-error @+1 {{(C1) expected a bucket of 0 or more}}
exec.wait %x bucket = -1 : memref<4xf32>
}
