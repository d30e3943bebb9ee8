// Losses of several outputs are added up sample by sample, so the outputs have as many.
// RUN: not %dlc-opt %s --dlc-append-loss=loss=kind:cross_entropy,size:mse 2>&1 | FileCheck %s

// CHECK: several losses expect outputs with one row a sample, found 8 rows of 'kind' and 4 of 'size'
func.func @predict(%x: tensor<8x5xf32> {dlc.name = "x"}, %z: tensor<4x3xf32> {dlc.name = "z"})
    -> (tensor<8x5xf32> {dlc.name = "kind"}, tensor<4x3xf32> {dlc.name = "size"}) {
  return %x, %z : tensor<8x5xf32>, tensor<4x3xf32>
}
