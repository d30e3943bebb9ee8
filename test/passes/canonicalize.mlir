// RUN: %dlc-opt %s --dlc-canonicalize | FileCheck %s

// CHECK-LABEL: @gelu_tanh
// CHECK-NEXT: [[Y:%.*]] = dlc.gelu %arg0 {tanh}
// CHECK-NEXT: return [[Y]]
func.func @gelu_tanh(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c1 = dlc.constant dense<0.044715> : tensor<f32>
  %c2 = dlc.constant dense<0.7978846> : tensor<f32>
  %one = dlc.constant dense<1.0> : tensor<f32>
  %half = dlc.constant dense<0.5> : tensor<f32>
  %three = dlc.constant dense<3.0> : tensor<f32>
  %cube = dlc.pow %x, %three : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %0 = dlc.mul %c1, %cube : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dlc.add %x, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dlc.mul %c2, %1 : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = dlc.tanh %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = dlc.add %one, %3 : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = dlc.mul %x, %4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = dlc.mul %half, %5 : (tensor<f32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

// The same with 0.5 on x, which is a product itself.
// CHECK-LABEL: @gelu_of_product
// CHECK-NEXT: [[X:%.*]] = dlc.mul %arg0, %arg1
// CHECK-NEXT: [[Y:%.*]] = dlc.gelu [[X]] {tanh}
// CHECK-NEXT: return [[Y]]
func.func @gelu_of_product(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %c1 = dlc.constant dense<0.044715> : tensor<f32>
  %c2 = dlc.constant dense<0.7978846> : tensor<f32>
  %one = dlc.constant dense<1.0> : tensor<f32>
  %half = dlc.constant dense<0.5> : tensor<f32>
  %x = dlc.mul %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %h = dlc.mul %x, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %s = dlc.mul %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %q = dlc.mul %s, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %0 = dlc.mul %q, %c1 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = dlc.add %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = dlc.mul %1, %c2 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = dlc.tanh %2 : (tensor<8xf32>) -> tensor<8xf32>
  %4 = dlc.add %3, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = dlc.mul %4, %h : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %5 : tensor<8xf32>
}

// CHECK-LABEL: @gelu_erf
// CHECK-NEXT: [[Y:%.*]] = dlc.gelu %arg0 :
// CHECK-NEXT: return [[Y]]
func.func @gelu_erf(%x: tensor<8xf32>) -> tensor<8xf32> {
  %root = dlc.constant dense<1.41421356> : tensor<f32>
  %one = dlc.constant dense<1.0> : tensor<f32>
  %half = dlc.constant dense<0.5> : tensor<f32>
  %0 = dlc.div %x, %root : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = dlc.erf %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = dlc.add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = dlc.mul %x, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = dlc.mul %3, %half : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// Another constant, or another x in the cube, is no GELU.
// CHECK-LABEL: @not_gelu
// CHECK-NOT: dlc.gelu
// CHECK: return
func.func @not_gelu(%x: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c = dlc.constant dense<0.5> : tensor<f32>
  %one = dlc.constant dense<1.0> : tensor<f32>
  %0 = dlc.mul %x, %c : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = dlc.erf %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = dlc.add %1, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = dlc.mul %0, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %c1 = dlc.constant dense<0.044715> : tensor<f32>
  %c2 = dlc.constant dense<0.7978846> : tensor<f32>
  %s = dlc.mul %z, %z : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %q = dlc.mul %s, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = dlc.mul %q, %c1 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = dlc.add %4, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %6 = dlc.mul %5, %c2 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = dlc.tanh %6 : (tensor<8xf32>) -> tensor<8xf32>
  %8 = dlc.add %7, %one : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %9 = dlc.mul %0, %8 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %3, %9 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: @matmul_bias
// CHECK-NEXT: [[Y:%.*]] = dlc.matmul %arg0, %arg1, %arg2 {trans_b}
// CHECK-NEXT: return [[Y]]
func.func @matmul_bias(%x: tensor<2x4x8xf32>, %w: tensor<3x8xf32>, %b: tensor<3xf32>) -> tensor<2x4x3xf32> {
  %t = dlc.transpose %w {perm = array<i64: 1, 0>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %0 = dlc.matmul %x, %t : (tensor<2x4x8xf32>, tensor<8x3xf32>) -> tensor<2x4x3xf32>
  %1 = dlc.add %b, %0 : (tensor<3xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %1 : tensor<2x4x3xf32>
}

// A product with another use keeps its own value; a vector over rows is no bias; a batch transpose is no flag.
// CHECK-LABEL: @no_bias
// CHECK: dlc.matmul %arg0, %arg1 :
// CHECK: dlc.add
// CHECK: dlc.transpose
// CHECK: dlc.matmul {{.*}}, {{.*}} :
// CHECK: dlc.add
func.func @no_bias(%x: tensor<1x4x8xf32>, %w: tensor<8x3xf32>, %b: tensor<3xf32>, %r: tensor<4x1xf32>)
    -> (tensor<1x4x3xf32>, tensor<1x4x3xf32>, tensor<4x1x3xf32>) {
  %0 = dlc.matmul %x, %w : (tensor<1x4x8xf32>, tensor<8x3xf32>) -> tensor<1x4x3xf32>
  %1 = dlc.add %0, %b : (tensor<1x4x3xf32>, tensor<3xf32>) -> tensor<1x4x3xf32>
  %t = dlc.transpose %x {perm = array<i64: 1, 0, 2>} : (tensor<1x4x8xf32>) -> tensor<4x1x8xf32>
  %2 = dlc.matmul %t, %w : (tensor<4x1x8xf32>, tensor<8x3xf32>) -> tensor<4x1x3xf32>
  %3 = dlc.add %0, %r : (tensor<1x4x3xf32>, tensor<4x1xf32>) -> tensor<1x4x3xf32>
  return %1, %3, %2 : tensor<1x4x3xf32>, tensor<1x4x3xf32>, tensor<4x1x3xf32>
}

// CHECK-LABEL: @conv_bias
// CHECK-NEXT: [[B:%.*]] = dlc.reshape %arg2 : (tensor<1x3x1x1xf32>) -> tensor<3xf32>
// CHECK-NEXT: dlc.conv %arg0, %arg1, [[B]]
// CHECK-NEXT: return
func.func @conv_bias(%x: tensor<2x1x4x4xf32>, %w: tensor<3x1x1x1xf32>, %b: tensor<1x3x1x1xf32>) -> tensor<2x3x4x4xf32> {
  %0 = dlc.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x1x4x4xf32>, tensor<3x1x1x1xf32>) -> tensor<2x3x4x4xf32>
  %1 = dlc.add %0, %b : (tensor<2x3x4x4xf32>, tensor<1x3x1x1xf32>) -> tensor<2x3x4x4xf32>
  return %1 : tensor<2x3x4x4xf32>
}

// Of volumes a channel has three more dimensions: what has two is another thing.
// CHECK-LABEL: @conv_bias_of_volumes
// CHECK: [[B:%.*]] = dlc.reshape %arg2 : (tensor<3x1x1x1xf32>) -> tensor<3xf32>
// CHECK: dlc.conv %arg0, %arg1, [[B]]
// CHECK: dlc.conv %arg0, %arg1 {
// CHECK-NEXT: dlc.add {{.*}}, %arg3
func.func @conv_bias_of_volumes(%x: tensor<2x1x3x4x4xf32>, %w: tensor<3x1x1x1x1xf32>, %b: tensor<3x1x1x1xf32>, %d: tensor<3x1x1xf32>)
    -> (tensor<2x3x3x4x4xf32>, tensor<2x3x3x4x4xf32>) {
  %0 = dlc.conv %x, %w {strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>} : (tensor<2x1x3x4x4xf32>, tensor<3x1x1x1x1xf32>) -> tensor<2x3x3x4x4xf32>
  %1 = dlc.add %0, %b : (tensor<2x3x3x4x4xf32>, tensor<3x1x1x1xf32>) -> tensor<2x3x3x4x4xf32>
  %2 = dlc.conv %x, %w {strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>} : (tensor<2x1x3x4x4xf32>, tensor<3x1x1x1x1xf32>) -> tensor<2x3x3x4x4xf32>
  %3 = dlc.add %2, %d : (tensor<2x3x3x4x4xf32>, tensor<3x1x1xf32>) -> tensor<2x3x3x4x4xf32>
  return %1, %3 : tensor<2x3x3x4x4xf32>, tensor<2x3x3x4x4xf32>
}

// CHECK-LABEL: @powers
// CHECK-DAG: dlc.mul %arg0, %arg0
// CHECK-DAG: dlc.sqrt %arg0
// CHECK-DAG: dlc.rsqrt %arg0
// CHECK-DAG: dlc.reciprocal %arg0
// CHECK-NOT: dlc.div
// CHECK: dlc.pow
// CHECK-NOT: dlc.pow
// CHECK: return
func.func @powers(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %one = dlc.constant dense<1.0> : tensor<f32>
  %two = dlc.constant dense<2.0> : tensor<f32>
  %half = dlc.constant dense<0.5> : tensor<1xf32>
  %minus = dlc.constant dense<-1.0> : tensor<f32>
  %odd = dlc.constant dense<1.7> : tensor<f32>
  %0 = dlc.pow %x, %two : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = dlc.pow %x, %half : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  %2 = dlc.div %one, %1 : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = dlc.pow %x, %minus : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = dlc.pow %x, %odd : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %1, %2, %3, %4 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: @constants
// CHECK-NEXT: [[C:%.*]] = dlc.constant dense<6.000000e+00> : tensor<f32>
// CHECK-NEXT: [[Y:%.*]] = dlc.mul %arg0, [[C]]
// CHECK-NEXT: return [[Y]]
func.func @constants(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = dlc.constant dense<0.0> : tensor<f32>
  %two = dlc.constant dense<2.0> : tensor<f32>
  %three = dlc.constant dense<3.0> : tensor<1xf32>
  %scalar = dlc.reshape %three : (tensor<1xf32>) -> tensor<f32>
  %0 = dlc.mul %x, %two : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = dlc.mul %scalar, %0 : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = dlc.sub %1, %zero : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = dlc.div %two, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %4 = dlc.div %2, %3 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// Movement that cancels goes; a mask before softmax, and x * sigmoid(x), stay.
// CHECK-LABEL: @kept
// CHECK-NEXT: [[M:%.*]] = dlc.add %arg0, %arg1
// CHECK-NEXT: [[S:%.*]] = dlc.softmax [[M]]
// CHECK-NEXT: [[G:%.*]] = dlc.sigmoid [[S]]
// CHECK-NEXT: [[Y:%.*]] = dlc.mul [[S]], [[G]]
// CHECK-NEXT: return [[Y]]
func.func @kept(%x: tensor<4x8xf32>, %mask: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %t = dlc.transpose %x {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %r = dlc.reshape %t : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %u = dlc.transpose %r {perm = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = dlc.add %u, %mask : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dlc.softmax %0 {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = dlc.sigmoid %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = dlc.mul %1, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// Tokens that become an image and come back need no copy: a permutation of whole groups of dimensions is undone.
// CHECK-LABEL: @tokens_of_image
// CHECK-NEXT: [[Y:%.*]] = dlc.reshape %arg0 : (tensor<2x4x6x8xf32>) -> tensor<2x24x8xf32>
// CHECK-NEXT: return [[Y]]
func.func @tokens_of_image(%x: tensor<2x4x6x8xf32>) -> tensor<2x24x8xf32> {
  %0 = dlc.transpose %x {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x4x6x8xf32>) -> tensor<2x8x4x6xf32>
  %1 = dlc.reshape %0 : (tensor<2x8x4x6xf32>) -> tensor<2x8x24xf32>
  %2 = dlc.transpose %1 {perm = array<i64: 0, 2, 1>} : (tensor<2x8x24xf32>) -> tensor<2x24x8xf32>
  return %2 : tensor<2x24x8xf32>
}

// Heads of an image's channels: one transpose remains, of as few dimensions as move.
// CHECK-LABEL: @heads_of_image
// CHECK-NEXT: [[X:%.*]] = dlc.reshape %arg0 : (tensor<2x4x6x8xf32>) -> tensor<2x24x4x2xf32>
// CHECK-NEXT: [[T:%.*]] = dlc.transpose [[X]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: [[Y:%.*]] = dlc.reshape [[T]] : (tensor<2x4x24x2xf32>) -> tensor<2x1x4x24x2xf32>
// CHECK-NEXT: return [[Y]]
func.func @heads_of_image(%x: tensor<2x4x6x8xf32>) -> tensor<2x1x4x24x2xf32> {
  %0 = dlc.transpose %x {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x4x6x8xf32>) -> tensor<2x8x4x6xf32>
  %1 = dlc.reshape %0 : (tensor<2x8x4x6xf32>) -> tensor<2x4x1x2x24xf32>
  %2 = dlc.transpose %1 {perm = array<i64: 0, 2, 1, 4, 3>} : (tensor<2x4x1x2x24xf32>) -> tensor<2x1x4x24x2xf32>
  return %2 : tensor<2x1x4x24x2xf32>
}

// The shapes have no common factors; or the first transpose remains for another user.
// CHECK-LABEL: @two_transposes
// CHECK-COUNT-4: dlc.transpose
func.func @two_transposes(%x: tensor<3x4xf32>, %y: tensor<2x3x4xf32>) -> (tensor<2x6xf32>, tensor<3x2x4xf32>, tensor<4x3x2xf32>) {
  %0 = dlc.transpose %x {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %1 = dlc.reshape %0 : (tensor<4x3xf32>) -> tensor<6x2xf32>
  %2 = dlc.transpose %1 {perm = array<i64: 1, 0>} : (tensor<6x2xf32>) -> tensor<2x6xf32>
  %3 = dlc.transpose %y {perm = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %4 = dlc.reshape %3 : (tensor<3x2x4xf32>) -> tensor<3x8xf32>
  %5 = dlc.transpose %4 {perm = array<i64: 1, 0>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %6 = dlc.reshape %5 : (tensor<8x3xf32>) -> tensor<4x3x2xf32>
  return %2, %3, %6 : tensor<2x6xf32>, tensor<3x2x4xf32>, tensor<4x3x2xf32>
}

// A product that reads tokens of an image transposed reads the image.
// CHECK-LABEL: @product_of_image
// CHECK-NEXT: [[A:%.*]] = dlc.reshape %arg0 : (tensor<2x4x6x8xf32>) -> tensor<2x24x8xf32>
// CHECK-NEXT: dlc.matmul [[A]], %arg1 : (tensor<2x24x8xf32>, tensor<8x5xf32>) -> tensor<2x24x5xf32>
// CHECK-NEXT: dlc.matmul %arg2, [[A]] {trans_b} : (tensor<2x5x8xf32>, tensor<2x24x8xf32>) -> tensor<2x5x24xf32>
func.func @product_of_image(%x: tensor<2x4x6x8xf32>, %w: tensor<8x5xf32>, %q: tensor<2x5x8xf32>)
    -> (tensor<2x24x5xf32>, tensor<2x5x24xf32>) {
  %0 = dlc.transpose %x {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x4x6x8xf32>) -> tensor<2x8x4x6xf32>
  %1 = dlc.reshape %0 : (tensor<2x8x4x6xf32>) -> tensor<2x8x24xf32>
  %2 = dlc.matmul %1, %w {trans_a} : (tensor<2x8x24xf32>, tensor<8x5xf32>) -> tensor<2x24x5xf32>
  %3 = dlc.matmul %q, %1 : (tensor<2x5x8xf32>, tensor<2x8x24xf32>) -> tensor<2x5x24xf32>
  return %2, %3 : tensor<2x24x5xf32>, tensor<2x5x24xf32>
}

// Logarithms of sigmoids near 0 and 1 stay finite.
// CHECK-LABEL: @log_of_sigmoid
// CHECK-NEXT: [[MINUS:%.*]] = dlc.neg %arg0
// CHECK-NEXT: [[S:%.*]] = dlc.softplus [[MINUS]]
// CHECK-NEXT: [[A:%.*]] = dlc.neg [[S]]
// CHECK-NEXT: [[T:%.*]] = dlc.softplus %arg0
// CHECK-NEXT: [[B:%.*]] = dlc.neg [[T]]
// CHECK-NEXT: return [[A]], [[B]]
func.func @log_of_sigmoid(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = dlc.constant dense<1.0> : tensor<f32>
  %s = dlc.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %a = dlc.log %s : (tensor<4xf32>) -> tensor<4xf32>
  %r = dlc.sub %one, %s : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %b = dlc.log %r : (tensor<4xf32>) -> tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
