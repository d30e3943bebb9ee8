// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expected the names of a library and of an operator with its domain}}
  %y = dlc.custom %x {library = "ops.liba.so", domain = "", op = "Twist", arguments = "{}"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C2) expected a backward call that is not differentiable}}
  %y = dlc.custom %x {library = "ops.liba.so", domain = "a", op = "Twist", arguments = "{}", backward, differentiable} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
