// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%p: tensor<2xi64>, %d: tensor<3xi64>, %k: tensor<i64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) shapes 2 and 3 do not broadcast}}
  %u, %v = dlc.uniform %p, %d, %k : (tensor<2xi64>, tensor<3xi64>, tensor<i64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}
