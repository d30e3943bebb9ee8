// RUN: %dlc-opt %s --dlc-schedule-kernels --dlc-map-threads | FileCheck %s

// Four elements a thread, 128 bits.
// CHECK: exec.kernel @elements {{.*}} threads = #exec.threads<grid = 63, block = 256, vector = 4> {
exec.kernel @elements {
^bb0(%x: tensor<64x1001xf32>):
  %y = dlc.neg %x : (tensor<64x1001xf32>) -> tensor<64x1001xf32>
  dlc.yield %y : tensor<64x1001xf32>
}

// A warp for each row, which stays in registers.
// CHECK: exec.kernel @rows {{.*}} threads = #exec.threads<grid = 1024, block = 256, vector = 4, across = 32, registers> {
exec.kernel @rows {
^bb0(%x: tensor<8192x128xf32>):
  %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<8192x128xf32>) -> tensor<8192x1xf32>
  %y = dlc.sub %x, %m : (tensor<8192x128xf32>, tensor<8192x1xf32>) -> tensor<8192x128xf32>
  dlc.yield %y : tensor<8192x128xf32>
}

// A block goes through 64 rows, three at a time, and adds up their columns: 96 threads have the same ones for each row.
// CHECK: exec.kernel @sums_of_rows {{.*}}outer = {{\[}}[0]: 256, [1]: 64], inner = {{\[}}[2]: 768]{{.*}} threads = #exec.threads<grid = 256, block = 288, vector = 8, across = 96, registers> {
exec.kernel @sums_of_rows {
^bb0(%h: tensor<256x64x768xbf16>):
  %x = dlc.cast %h : (tensor<256x64x768xbf16>) -> tensor<256x64x768xf32>
  %m = dlc.reduce_max %x {axes = array<i64: 2>, keepdims} : (tensor<256x64x768xf32>) -> tensor<256x64x1xf32>
  %y = dlc.sub %x, %m : (tensor<256x64x768xf32>, tensor<256x64x1xf32>) -> tensor<256x64x768xf32>
  %s = dlc.reduce_sum %y {axes = array<i64: 1>, keepdims} : (tensor<256x64x768xf32>) -> tensor<256x1x768xf32>
  %k = dlc.cast %y : (tensor<256x64x768xf32>) -> tensor<256x64x768xbf16>
  dlc.yield %s, %k : tensor<256x1x768xf32>, tensor<256x64x768xbf16>
}

// Rows beyond registers are read twice: by the largest blocks, so that few are
// under way and a cache keeps them.
// CHECK: exec.kernel @long_rows {{.*}} threads = #exec.threads<grid = 32768, block = 1024, vector = 8, across = 1024, chunks = 7, index = 64>
exec.kernel @long_rows {
^bb0(%x: tensor<32768x50304xbf16>):
  %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<32768x50304xbf16>) -> tensor<32768x1xbf16>
  %y = dlc.sub %x, %m : (tensor<32768x50304xbf16>, tensor<32768x1xbf16>) -> tensor<32768x50304xbf16>
  dlc.yield %y : tensor<32768x50304xbf16>
}

// Sums of few columns: 64 threads share four sums, those of a line are in a
// block.
// CHECK: exec.kernel @columns {{.*}} threads = #exec.threads<grid = 32, block = 512, vector = 4, across = 8> {
exec.kernel @columns {
^bb0(%x: tensor<640x1024xf32>):
  %m = dlc.reduce_sum %x {axes = array<i64: 0>} : (tensor<640x1024xf32>) -> tensor<1024xf32>
  dlc.yield %m : tensor<1024xf32>
}

// Sums of more columns: 16 threads share four sums.
// CHECK: exec.kernel @more_columns {{.*}} threads = #exec.threads<grid = 768, block = 256, vector = 4, across = 16> {
exec.kernel @more_columns {
^bb0(%x: tensor<96x128x512xf32>):
  %m = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<96x128x512xf32>) -> tensor<96x512xf32>
  dlc.yield %m : tensor<96x512xf32>
}

// Of many columns, 8 threads share four sums.
// CHECK: exec.kernel @many_columns {{.*}} threads = #exec.threads<grid = 1024, block = 256, vector = 4, across = 32> {
exec.kernel @many_columns {
^bb0(%x: tensor<256x128x512xf32>):
  %m = dlc.reduce_sum %x {axes = array<i64: 1>} : (tensor<256x128x512xf32>) -> tensor<256x512xf32>
  dlc.yield %m : tensor<256x512xf32>
}

// Numbers beyond 32 bits; nothing to do.
// CHECK: exec.kernel @large {{.*}} threads = #exec.threads<grid = 4194304, block = 256, vector = 4, index = 64> {
exec.kernel @large {
^bb0(%x: tensor<4294967296xf32>):
  %y = dlc.neg %x : (tensor<4294967296xf32>) -> tensor<4294967296xf32>
  dlc.yield %y : tensor<4294967296xf32>
}
// CHECK: exec.kernel @empty {{.*}} threads = #exec.threads<grid = 0, block = 32
exec.kernel @empty {
^bb0(%x: tensor<0x3xf32>):
  %y = dlc.neg %x : (tensor<0x3xf32>) -> tensor<0x3xf32>
  dlc.yield %y : tensor<0x3xf32>
}

// Attention: 64 queries stay while keys come by, 32 at a time.
// CHECK: exec.kernel @attention {{.*}} threads = #exec.threads<grid = 8, block = 128, tile = 64x32, warps = 4x1> {
exec.kernel @attention {
^bb0(%q: tensor<2x64x4x64xf16>, %k: tensor<2x64x4x64xf16>, %v: tensor<2x64x4x64xf16>):
  %y, %l = dlc.attention %q, %k, %v {scale = 0.125 : f64, layout = "bthd"} : (tensor<2x64x4x64xf16>, tensor<2x64x4x64xf16>, tensor<2x64x4x64xf16>) -> (tensor<2x64x4x64xf16>, tensor<2x4x64x1xf32>)
  dlc.yield %y, %l : tensor<2x64x4x64xf16>, tensor<2x4x64x1xf32>
}

// Threads that are there stay.
// CHECK: exec.kernel @given {{.*}} threads = #exec.threads<grid = 16, block = 64> {
exec.kernel @given schedule = #exec.schedule<elementwise, inner = [[0]: 1024]> threads = #exec.threads<grid = 16, block = 64> {
^bb0(%x: tensor<1024xf32>):
  %y = dlc.neg %x : (tensor<1024xf32>) -> tensor<1024xf32>
  dlc.yield %y : tensor<1024xf32>
}
