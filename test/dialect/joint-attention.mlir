// RUN: %dlc-opt %s > %t && %dlc-opt %t | diff %t -
// What is printed is read back as the same program.

func.func @forward(%qkv: tensor<2x8x12x16xbf16>, %m: tensor<2x1x8x8xbf16>) {
  %y, %l = dlc.attention_joint %qkv {causal, scale = 2.500000e-01 : f64} : (tensor<2x8x12x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>)
  %z, %k = dlc.attention_joint %qkv, %m {scale = 2.500000e-01 : f64} : (tensor<2x8x12x16xbf16>, tensor<2x1x8x8xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>)
  return
}
func.func @backward(%qkv: tensor<2x8x12x16xbf16>, %y: tensor<2x8x4x16xbf16>, %l: tensor<2x4x8x1xf32>, %m: tensor<2x1x8x8xbf16>) {
  %d = dlc.attention_joint_backward %y, %qkv, %y, %l {causal, scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x12x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>) -> tensor<2x8x12x16xbf16>
  %e = dlc.attention_joint_backward %y, %qkv, %y, %l, %m {scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x12x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>, tensor<2x1x8x8xbf16>) -> tensor<2x8x12x16xbf16>
  return
}
