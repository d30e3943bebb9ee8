// RUN: %dlc-opt %s --dlc-schedule-kernels | FileCheck %s

// Attention is whole: its target knows the loops.
// CHECK: exec.kernel @attention schedule = #exec.schedule<whole, grain = 1, flops = 8192, bytes = 0> {
exec.kernel @attention {
^bb0(%q: tensor<1x2x8x16xf16>):
  %y, %lse = dlc.attention %q, %q, %q {scale = 0.25 : f64} : (tensor<1x2x8x16xf16>, tensor<1x2x8x16xf16>, tensor<1x2x8x16xf16>) -> (tensor<1x2x8x16xf16>, tensor<1x2x8x1xf32>)
  dlc.yield %y : tensor<1x2x8x16xf16>
}
