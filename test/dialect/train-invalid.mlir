// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2xf32>, %i: tensor<2xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected logits of rank 2, found 2}}
  %y, %l = dlc.softmax_cross_entropy %x, %i {ignore_index = -100 : i64} : (tensor<2xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<3xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected 2 labels, found 3}}
  %y, %l = dlc.softmax_cross_entropy %x, %i {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<3xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%d: tensor<2xf32>, %x: tensor<2xf32>, %i: tensor<2xi64>, %l: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected logits of rank 2, found 2}}
  %dx = dlc.softmax_cross_entropy_backward %d, %x, %i, %l : (tensor<2xf32>, tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%d: tensor<2xf32>, %x: tensor<2x3xf32>, %i: tensor<3xi64>, %l: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected 2 labels, found 3}}
  %dx = dlc.softmax_cross_entropy_backward %d, %x, %i, %l : (tensor<2xf32>, tensor<2x3xf32>, tensor<3xi64>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%d: tensor<2xf64>, %x: tensor<2x3xf32>, %i: tensor<2xi64>, %l: tensor<2xf64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected type 'tensor<2xf32>', found 'tensor<2xf64>'}}
  %dx = dlc.softmax_cross_entropy_backward %d, %x, %i, %l : (tensor<2xf64>, tensor<2x3xf32>, tensor<2xi64>, tensor<2xf64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expected result type 'tensor<2xf32>'}}
  %y = dlc.all_reduce %x : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C3) expected mean or sum, found max}}
  %y = dlc.all_reduce %x op = max : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C2) expected a parameter @w of the shape of 'tensor<2xf32>'}}
  %y = dlc.all_reduce %x {of = @w} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

dlc.state @w : tensor<2xf32> buffer init = "w"
func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C2) expected a parameter @w of the shape of 'tensor<2xf32>'}}
  %y = dlc.all_reduce %x {of = @w} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

dlc.state @error : tensor<2x6xf32> error init = 0.0 : f32
dlc.state @factor : tensor<2x1xf32> factor init = 0.0 : f32
func.func @f(%x: tensor<2x6xf32>) {
  // expected-error @+1 {{(C4) expected an error and a factor of 'tensor<2x6xf32>'}}
  %y = dlc.all_reduce %x {error = @error, factor = @factor} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{(C1) expected at least one operand}}
  %y = dlc.all_finite : () -> tensor<i1>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C2) expected a scalar result, found 'tensor<1xf32>'}}
  %y = dlc.global_norm %x : (tensor<2xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{(C1) expected a state named @w}}
  %w = dlc.read @w : tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expected a state named @w}}
  dlc.write @w, %x : tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C1) expected a state named @w}}
  dlc.gradient @w, %x : tensor<2xf32>
  return
}

// -----

dlc.state @w : tensor<3xf32> param init = "w"
func.func @f() {
  // expected-error @+1 {{(C2) expected @w's type 'tensor<3xf32>', found 'tensor<2xf32>'}}
  %w = dlc.read @w : tensor<2xf32>
  return
}

// -----

dlc.state @w : tensor<3xf32> param init = "w"
func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C2) expected @w's type 'tensor<3xf32>', found 'tensor<2xf32>'}}
  dlc.write @w, %x : tensor<2xf32>
  return
}

// -----

dlc.state @w : tensor<3xf32> param init = "w"
func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C2) expected @w's type 'tensor<3xf32>', found 'tensor<2xf32>'}}
  dlc.gradient @w, %x : tensor<2xf32>
  return
}

// -----

dlc.state @w : tensor<3x2xf32> param init = "w"
func.func @f(%x: tensor<5x3xf32>, %rows: tensor<5xi64>) {
  // expected-error @+1 {{(C3) expected 5 rows of 'tensor<3x2xf32>', found 'tensor<5x3xf32>'}}
  dlc.gradient @w, %x at %rows : tensor<5x3xf32>, tensor<5xi64>
  return
}

// -----

dlc.state @w : tensor<3xf32> param init = "w"
func.func @f(%x: tensor<3xf32>) {
  // expected-note @+1 {{the other write}}
  dlc.write @w, %x : tensor<3xf32>
  %y = dlc.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  // expected-error @+1 {{(C3) @w is written twice}}
  dlc.write @w, %y : tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{(C3) expected by = library or decomposed, found generated}}
  %y = dlc.global_norm %x by = generated : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected a matrix, found 'tensor<3xf32>'}}
  %y = dlc.orthogonalize %x : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected no more columns than rows, found 'tensor<2x3xf32>'}}
  %y = dlc.orthogonalize %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{(C2) expected a scalar result, found 'tensor<1xi1>'}}
  %y = dlc.all_finite %x : (tensor<2xf32>) -> tensor<1xi1>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{(C3) expected by = library or decomposed, found generated}}
  %y = dlc.all_finite %x by = generated : (tensor<2x3xf32>) -> tensor<i1>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{(C1) expected at least one operand}}
  %y = dlc.global_norm : () -> tensor<f32>
  return
}
