// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expected one shape and element type}}
  %y = dlc.take_shard %x : (tensor<2xf32>) -> tensor<3xf32, @w>
  return
}

// -----

func.func @f(%x: tensor<2xf32, @w>) {
  // expected-error @+1 {{(C2) expected a whole tensor}}
  %y = dlc.take_shard %x : (tensor<2xf32, @w>) -> tensor<2xf32, @w>
  return
}

// -----

dlc.state @w : tensor<3xf32> param init = "w"
func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C3) expected a part as of a parameter of that shape}}
  %y = dlc.reduce_scatter %x {bucket = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32, @w>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expected shards}}
  %y = dlc.square_sums %x : (tensor<2xf32>) -> tensor<69xi64>
  return
}

// -----

func.func @f(%x: tensor<2xf32, @w>) {
  // expected-error @+1 {{(C2) expected 1 integers, found}}
  %y = dlc.count_nonfinite %x : (tensor<2xf32, @w>) -> tensor<2xi64>
  return
}

// -----

func.func @f(%x: tensor<2xi64>) {
  // expected-error @+1 {{(C1) expected 69 integers, found}}
  %y = dlc.norm_of_squares %x : (tensor<2xi64>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<1xi64>) {
  // expected-error @+1 {{(C2) expected a scalar, found}}
  %y = dlc.none_counted %x : (tensor<1xi64>) -> tensor<2xi1>
  return
}

// -----

// expected-error @+1 {{(C1) is split as @w}}
dlc.state @v.m : tensor<2xf32, @w> moment init = 0.0 : f32 of = @v

// -----

func.func @f(%x: tensor<2xf32, @w>, %y: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expected shards of @w of one shape}}
  %z = dlc.fused(%x, %y) : (tensor<2xf32, @w>, tensor<2xf32>) -> tensor<2xf32, @w> {
  ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
    dlc.yield %a : tensor<2xf32>
  }
  return
}
