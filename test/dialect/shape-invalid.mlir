// RUN: %dlc-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @+1 {{(C1) axis 2 is outside of rank 2}}
  %z = dlc.iota {axis = 2 : i64} : () -> tensor<2x3xi64>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{(C1) expected one element type}}
  %z = dlc.reshape %x : (tensor<2x3xf32>) -> tensor<6xf16>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{(C2) expected 6 elements, found 5}}
  %z = dlc.reshape %x : (tensor<2x3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) perm is not a permutation of 2 dimensions}}
  %z = dlc.transpose %x {perm = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) perm is not a permutation of 2 dimensions}}
  %z = dlc.transpose %x {perm = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{(C1) operand does not broadcast to the result}}
  %z = dlc.broadcast %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected 2 starts, sizes and steps}}
  %z = dlc.slice %x {starts = array<i64: 0>, sizes = array<i64: 1>, steps = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) slice of dimension 1 leaves [0, 3)}}
  %z = dlc.slice %x {starts = array<i64: 0, 2>, sizes = array<i64: 2, 2>, steps = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected 2 low, high and interior sizes}}
  %z = dlc.pad %x {low = array<i64: 0>, high = array<i64: 0>, interior = array<i64: 0>, value = 0.0 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected sizes of zero or more}}
  %z = dlc.pad %x {low = array<i64: 0, -1>, high = array<i64: 0, 0>, interior = array<i64: 0, 0>, value = 0.0 : f64} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected at least one operand}}
  %z = dlc.concat {axis = 0 : i64} : () -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) axis 2 is outside of rank 2}}
  %z = dlc.concat %x, %x {axis = 2 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf16>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) operands differ in rank or element type}}
  %z = dlc.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf16>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) operands differ in dimension 1}}
  %z = dlc.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) axis 2 is outside of rank 2}}
  %z = dlc.gather %x, %i {axis = 2 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) padding 2 is none of 2 slices}}
  %z = dlc.gather %x, %i {axis = 0 : i64, padding = 2 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) padding -1 is none of 2 slices}}
  %z = dlc.gather %x, %i {axis = 0 : i64, padding = -1 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{(C1) axis -1 is outside of rank 2}}
  %z = dlc.scatter_add %i, %u {axis = -1 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{(C2) expected operands of one element type, found 'f16' and 'f32'}}
  %z = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf16>
  return
}

// -----

func.func @f(%i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{(C3) expected shape 4x5, found 'tensor<4x3xf32>'}}
  %z = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected by = library or generated, found decomposed}}
  %y = dlc.gather %x, %i by = decomposed {axis = 0 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+1 {{(C4) expected by = library or decomposed, found generated}}
  %y = dlc.scatter_add %i, %u by = generated {axis = 0 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%i: tensor<2x2xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C1) expected a vector, found 'tensor<2x2xi64>'}}
  %rows, %sums = dlc.unique_rows %i, %u {size = 5 : i64} : (tensor<2x2xi64>, tensor<4x3xf32>) -> (tensor<2x2xi64>, tensor<4x3xf32>)
  return
}

// -----

func.func @f(%i: tensor<5xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C2) expected 5 rows of 'tensor<4x3xf32>', found 'tensor<4x3xf32>'}}
  %rows, %sums = dlc.unique_rows %i, %u {size = 5 : i64} : (tensor<5xi64>, tensor<4x3xf32>) -> (tensor<5xi64>, tensor<4x3xf32>)
  return
}

// -----

func.func @f(%i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C3) expected rows, found 0}}
  %rows, %sums = dlc.unique_rows %i, %u {size = 0 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> (tensor<4xi64>, tensor<4x3xf32>)
  return
}

// -----

func.func @f(%i: tensor<4xi64>, %u: tensor<4x3xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{(C4) expected by = library or decomposed, found generated}}
  %rows, %sums = dlc.unique_rows %i, %u by = generated {size = 5 : i64} : (tensor<4xi64>, tensor<4x3xf32>) -> (tensor<4xi64>, tensor<4x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<i64>, %v: tensor<1x3xf32>) {
  // expected-error @+1 {{(C1) expected a vector, found 'tensor<i64>'}}
  %y = dlc.put_rows %x, %i, %v : (tensor<2x3xf32>, tensor<i64>, tensor<1x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>, %v: tensor<4x2xf32>) {
  // expected-error @+1 {{(C2) expected 4 rows of 'tensor<2x3xf32>', found 'tensor<4x2xf32>'}}
  %y = dlc.put_rows %x, %i, %v : (tensor<2x3xf32>, tensor<4xi64>, tensor<4x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %i: tensor<4xi64>, %v: tensor<4x3xf32>) {
  // expected-error @+1 {{(C3) expected by = library or generated, found decomposed}}
  %y = dlc.put_rows %x, %i, %v by = decomposed : (tensor<2x3xf32>, tensor<4xi64>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}
