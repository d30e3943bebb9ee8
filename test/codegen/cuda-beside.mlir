// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: %dlc-opt %s --dlc-schedule-kernels --dlc-map-threads | FileCheck %s --check-prefix=MAP
// RUN: %dlc-opt %s --dlc-schedule-kernels --dlc-map-threads | sed 's/grid = 4/grid = 5/' > %t.mlir
// RUN: not dlc-codegen %t.mlir --sm=90 --emit=ptx 2>&1 | FileCheck %s --check-prefix=GRID

// Blocks 0 to 2 compute the first part, block 3 the second; costs are those of both.
// MAP: flops = 3010, bytes = 24080> threads = #exec.threads<grid = 4, block = 256
// PTX: .entry negate
// PTX: .maxntid 256
// PTX: setp.{{.*}}, 2
// PTX: setp.{{.*}}, 3
// GRID: 'exec.kernel' op has other threads than its parts need
exec.kernel @negate {
^bb0(%x: tensor<3000xf32>, %y: tensor<10xf32>):
  %0 = dlc.neg %x : (tensor<3000xf32>) -> tensor<3000xf32>
  exec.beside
  %1 = dlc.neg %y : (tensor<10xf32>) -> tensor<10xf32>
  dlc.yield %0, %1 : tensor<3000xf32>, tensor<10xf32>
}

// A part may have no elements; tables are there once.
// PTX: .entry none
exec.kernel @none {
^bb0(%x: tensor<0xf32>, %y: tensor<3xf32>):
  %0 = dlc.neg %x : (tensor<0xf32>) -> tensor<0xf32>
  exec.beside
  %t = dlc.constant dense<[1.0, -2.0, 4.0]> : tensor<3xf32>
  %1 = dlc.mul %y, %t : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  dlc.yield %0, %1 : tensor<0xf32>, tensor<3xf32>
}
