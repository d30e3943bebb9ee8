// Results that take the place of an operand that nothing reads afterwards.
// RUN: %dlc-opt %s --dlc-fuse --dlc-plan-memory --split-input-file | FileCheck %s

// The product's place, through a reshape, is the activation's; %x is an input, and stays.
// CHECK: exec.program @local
// CHECK: exec.call "matmul" {{.*}} outs(%[[A:[0-9a-z]+]] : memref<4x8xf32>)
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A2:[0-9a-z]+]] : memref<8x4xf32>) outs(%[[A2]] : memref<8x4xf32>)
// CHECK-NEXT: exec.call "matmul" ins(%[[A2]],
func.func @local(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = dlc.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %v = dlc.reshape %a : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %t = dlc.tanh %v : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = dlc.matmul %t, %x : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----
// The last product reads what the activation would have overwritten.
// CHECK: exec.program @read_later
// CHECK: exec.call "matmul" {{.*}} outs(%[[A:[0-9a-z]+]] : memref<8x8xf32>)
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]] : memref<8x8xf32>) outs(%[[T:[0-9a-z]+]] : memref<8x8xf32>)
// CHECK-NEXT: exec.call "matmul" ins(%[[T]], %[[A]] :
func.func @read_later(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = dlc.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = dlc.tanh %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = dlc.matmul %t, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----
// Each element of a transpose is read where another is written; a cast's have other sizes.
// CHECK: exec.program @elsewhere
// CHECK: exec.call "matmul" {{.*}} outs(%[[A:[0-9a-z]+]] : memref<8x8xf32>)
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]] : memref<8x8xf32>) outs(%[[A]] : memref<8x8xf32>)
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]] : memref<8x8xf32>) outs(%[[T:[0-9a-z]+]] : memref<8x8xf32>)
// CHECK-NEXT: exec.call "matmul" ins(%[[T]], {{.*}} outs(%[[A]] : memref<8x8xf32>)
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]] : memref<8x8xf32>) outs(%[[H:[0-9a-z]+]] : memref<8x8xbf16>)
// CHECK-NEXT: exec.call "matmul" ins(%[[H]], %[[H]] :
func.func @elsewhere(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xbf16> {
  %a = dlc.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = dlc.exp %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %t = dlc.transpose %r {perm = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = dlc.matmul %t, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %h = dlc.cast %b : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %y = dlc.matmul %h, %h : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %y : tensor<8x8xbf16>
}

// -----
// A softmax writes a row after its last reduction: in place.
// CHECK: exec.program @rows
// CHECK: exec.call "matmul" {{.*}} outs(%[[A:[0-9a-z]+]] : memref<8x8xf32>)
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]] : memref<8x8xf32>) outs(%[[A]] : memref<8x8xf32>)
// CHECK-NEXT: exec.call "matmul" ins(%[[A]],
func.func @rows(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = dlc.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %m = dlc.reduce_max %a {axes = array<i64: 1>, keepdims} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %d = dlc.sub %a, %m : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %e = dlc.exp %d : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %p = dlc.div %e, %s : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %y = dlc.matmul %p, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----
// One operand has one successor; the last of several readers may be it; what is returned has a place of its own.
// CHECK: exec.program @two
// CHECK: exec.port "output" "output1" %[[Y:[0-9a-z]+]]
// CHECK: exec.call "matmul" {{.*}} outs(%[[A:[0-9a-z]+]] : memref<8x8xf32>)
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]] : memref<8x8xf32>) outs(%[[C:[0-9a-z]+]] : memref<8x8xf32>)
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[A]], %{{.*}} : memref<8x8xf32>, memref<8x8xf32>) outs(%[[A]], %[[B:[0-9a-z]+]] : memref<8x8xf32>, memref<8x8xf32>)
// CHECK-NEXT: exec.call "matmul" ins(%[[A]], %[[B]] :
func.func @two(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = dlc.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = dlc.cos %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = dlc.mul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = dlc.add %p, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = dlc.matmul %p, %q : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %y, %c : tensor<8x8xf32>, tensor<8x8xf32>
}
