// RUN: %dlc-opt %s --dlc-fuse --dlc-plan-memory --split-input-file | FileCheck %s

// Scratch by liveness, in steps of 64 bytes: the first product's place is the third's, whose
// operand is the second; the input keeps its own as long as it is read.
// CHECK: exec.region @scratch "scratch" bytes = 192
// CHECK: exec.program @chain scratch = 192
// CHECK-DAG: %[[X:[0-9a-z]+]] = exec.buffer @scratch at 0 : memref<4x4xf32>
// CHECK-DAG: %[[A:[0-9a-z]+]] = exec.buffer @scratch at 64 : memref<4x4xf32>
// CHECK-DAG: %[[B:[0-9a-z]+]] = exec.buffer @scratch at 128 : memref<4x4xf32>
// CHECK: exec.port "input" "x" %[[X]]
// CHECK: exec.port "output" "y" %[[B]]
// CHECK: exec.call "matmul" ins(%[[X]], %[[X]] {{.*}} outs(%[[A]] :
// CHECK: exec.call "matmul" ins(%[[A]], %[[A]] {{.*}} outs(%[[B]] :
// CHECK: exec.call "matmul" ins(%[[B]], %[[B]] {{.*}} outs(%[[A]] :
// CHECK: exec.call "matmul" ins(%[[A]], %[[X]] {{.*}} outs(%[[B]] :
func.func @chain(%x: tensor<4x4xf32> {dlc.name = "x"}) -> (tensor<4x4xf32> {dlc.name = "y"}) {
  %a = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = dlc.matmul %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = dlc.matmul %b, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = dlc.matmul %c, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// -----
// A reshape is its operand's memory: no command, no place. The result (256 bytes) takes the place of %w, read last before.
// CHECK: exec.program @view scratch = 384
// CHECK-DAG: %[[V:[0-9a-z]+]] = exec.buffer @scratch at [[AT:[0-9]+]] : memref<8x2xf32>
// CHECK-DAG: %[[A:[0-9a-z]+]] = exec.buffer @scratch at [[AT]] : memref<2x8xf32>
// CHECK: exec.port "input" "input1" %[[W:[0-9a-z]+]]
// CHECK: exec.call "matmul" {{.*}} outs(%[[A]] :
// CHECK-NEXT: exec.call "matmul" ins(%[[V]], {{.*}} outs(%[[W]] :
// CHECK-NEXT: {{^  }}}
func.func @view(%x: tensor<2x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = dlc.matmul %x, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %v = dlc.reshape %a : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %y = dlc.matmul %v, %x : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----
// Parameters lie in the order of their writes, each moment at its parameter's offset, and each
// gradient is born there too, behind the loss, so that the bucket is one range: 16 elements of @w's
// and 3 of @b's. The updates write over the states, after the wait; the loss' own bucket is
// awaited where the program ends.
// CHECK: exec.region @param "state" bytes = 128
// CHECK: exec.region @moment.m "state" bytes = 128
// CHECK: exec.region @gradient "gradient" bytes = 192
// CHECK: exec.state @b : {{.*}} in @param at 64
// CHECK: exec.state @w : {{.*}} in @param at 0
// CHECK: exec.state @b.m : {{.*}} in @moment.m at 64 {{.*}} of = @b
// CHECK: exec.state @w.m : {{.*}} in @moment.m at 0 {{.*}} of = @w
// CHECK: exec.program @train_step
// CHECK-DAG: %[[LOSS:[0-9a-z]+]] = exec.buffer @gradient at 0 : memref<f32>
// CHECK-DAG: %[[DW:[0-9a-z]+]] = exec.buffer @gradient at 64 : memref<4x4xf32>
// CHECK-DAG: %[[DB:[0-9a-z]+]] = exec.buffer @gradient at 128 : memref<3xf32>
// CHECK-DAG: %[[RANGE:[0-9a-z]+]] = exec.buffer @gradient at 64 : memref<19xf32>
// CHECK-DAG: %[[W:[0-9a-z]+]] = exec.buffer @param at 0 : memref<4x4xf32>
// CHECK-DAG: %[[B:[0-9a-z]+]] = exec.buffer @param at 64 : memref<3xf32>
// CHECK-DAG: %[[WM:[0-9a-z]+]] = exec.buffer @moment.m at 0 : memref<4x4xf32>
// CHECK-DAG: %[[BM:[0-9a-z]+]] = exec.buffer @moment.m at 64 : memref<3xf32>
// CHECK: exec.port "output" "loss" %[[LOSS]]
// CHECK: exec.call "matmul" {{.*}} outs(%[[DW]] :
// CHECK: exec.launch {{.*}} outs(%[[DB]] :
// CHECK: exec.all_reduce %[[RANGE]] bucket = 0
// CHECK: exec.wait %[[RANGE]] bucket = 0
// CHECK: exec.launch @[[SGD:[0-9a-z_]+]] ins(%[[WM]], %[[DW]], %{{.*}}, %[[W]] :{{.*}} outs(%[[WM]], %[[W]] :
// CHECK: exec.launch {{.*}} ins(%[[BM]], %[[DB]], %{{.*}}, %[[B]] :{{.*}} outs(%[[BM]], %[[B]] :
// CHECK: exec.wait %{{.*}} bucket = 1
// CHECK-NOT: exec.copy
// CHECK: exec.kernel @[[SGD]]
dlc.state @b : tensor<3xf32> param init = "b" trainable
dlc.state @w : tensor<4x4xf32> param init = "w" trainable
dlc.state @b.m : tensor<3xf32> moment init = 0.0 : f32 of = @b
dlc.state @w.m : tensor<4x4xf32> moment init = 0.0 : f32 of = @w
func.func @train_step(%x: tensor<4x4xf32>, %z: tensor<3xf32>, %lr: tensor<f32>) -> (tensor<f32> {dlc.name = "loss"}) {
  %w = dlc.read @w : tensor<4x4xf32>
  %wm = dlc.read @w.m : tensor<4x4xf32>
  %b = dlc.read @b : tensor<3xf32>
  %bm = dlc.read @b.m : tensor<3xf32>
  %y = dlc.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = dlc.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  %dw = dlc.matmul %x, %y {trans_a} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %db = dlc.neg %z : (tensor<3xf32>) -> tensor<3xf32>
  %gw = dlc.all_reduce %dw {bucket = 0 : i64, of = @w} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %gb = dlc.all_reduce %db {bucket = 0 : i64, of = @b} : (tensor<3xf32>) -> tensor<3xf32>
  %mean = dlc.all_reduce %loss {bucket = 1 : i64} : (tensor<f32>) -> tensor<f32>
  %momentum = dlc.constant dense<0.9> : tensor<f32>
  %wkept = dlc.mul %wm, %momentum : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %wm1 = dlc.add %wkept, %gw : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %wfar = dlc.mul %wm1, %lr : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %w1 = dlc.sub %w, %wfar : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %bkept = dlc.mul %bm, %momentum : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %bm1 = dlc.add %bkept, %gb : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %bfar = dlc.mul %bm1, %lr : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %b1 = dlc.sub %b, %bfar : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  dlc.write @w, %w1 : tensor<4x4xf32>
  dlc.write @w.m, %wm1 : tensor<4x4xf32>
  dlc.write @b, %b1 : tensor<3xf32>
  dlc.write @b.m, %bm1 : tensor<3xf32>
  return %mean : tensor<f32>
}

// -----
// A product may not write over what it reads, nor before the last reader of the old value: both go
// through scratch to the state at the end. With no reader left, the product writes the state itself.
// CHECK: exec.program @old_values
// CHECK-DAG: %[[A:[0-9a-z]+]] = exec.buffer @buffer at 0 : memref<4x4xf32>
// CHECK-DAG: %[[B:[0-9a-z]+]] = exec.buffer @buffer at 64 : memref<4x4xf32>
// CHECK-DAG: %[[C:[0-9a-z]+]] = exec.buffer @buffer at 128 : memref<4x4xf32>
// CHECK: exec.call "matmul" ins(%[[X:[0-9a-z]+]], %[[A]] :{{.*}} outs(%[[A1:[0-9a-z]+]] :
// CHECK-NEXT: exec.call "matmul" ins(%[[X]], %[[X]] :{{.*}} outs(%[[B1:[0-9a-z]+]] :
// CHECK-NEXT: exec.call "matmul" ins(%[[B1]], %[[B]] :
// CHECK-NEXT: exec.call "matmul" ins(%[[B]], %[[C]] :{{.*}} outs(%[[T:[0-9a-z]+]] :
// CHECK-NEXT: exec.call "matmul" ins(%[[T]], %[[X]] :{{.*}} outs(%[[C]] :
// CHECK-NEXT: exec.copy %[[A1]] to %[[A]]
// CHECK-NEXT: exec.copy %[[B1]] to %[[B]]
// CHECK-NOT: exec.copy
dlc.state @a : tensor<4x4xf32> buffer init = "a"
dlc.state @b : tensor<4x4xf32> buffer init = "b"
dlc.state @c : tensor<4x4xf32> buffer init = "c"
func.func @old_values(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = dlc.read @a : tensor<4x4xf32>
  %b = dlc.read @b : tensor<4x4xf32>
  %c = dlc.read @c : tensor<4x4xf32>
  %a1 = dlc.matmul %x, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  dlc.write @a, %a1 : tensor<4x4xf32>
  %b1 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  dlc.write @b, %b1 : tensor<4x4xf32>
  %y = dlc.matmul %b1, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = dlc.matmul %b, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c1 = dlc.matmul %t, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  dlc.write @c, %c1 : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----
// Two states change places: both old values are kept first, then written.
// CHECK: exec.program @swap
// CHECK-DAG: %[[A:[0-9a-z]+]] = exec.buffer @buffer at 0 :
// CHECK-DAG: %[[B:[0-9a-z]+]] = exec.buffer @buffer at 64 :
// CHECK: exec.copy %[[A]] to %[[OLD_A:[0-9a-z]+]] :
// CHECK-NEXT: exec.copy %[[B]] to %[[OLD_B:[0-9a-z]+]] :
// CHECK-NEXT: exec.copy %[[OLD_B]] to %[[A]] :
// CHECK-NEXT: exec.copy %[[OLD_A]] to %[[B]] :
dlc.state @a : tensor<4xf32> buffer init = "a"
dlc.state @b : tensor<4xf32> buffer init = "b"
func.func @swap() {
  %a = dlc.read @a : tensor<4xf32>
  %b = dlc.read @b : tensor<4xf32>
  dlc.write @a, %b : tensor<4xf32>
  dlc.write @b, %a : tensor<4xf32>
  return
}

// -----
// A result that is a state's old value is kept, for the state is written over.
// CHECK: exec.program @returned
// CHECK-DAG: %[[S:[0-9a-z]+]] = exec.buffer @buffer at 0 :
// CHECK-DAG: %[[OLD:[0-9a-z]+]] = exec.buffer @scratch
// CHECK: exec.port "output" "old" %[[OLD]]
// CHECK: exec.copy %[[S]] to %[[OLD]]
// CHECK: exec.launch {{.*}} outs(%[[NEW:[0-9a-z]+]] :
// CHECK: exec.copy %[[NEW]] to %[[S]]
dlc.state @s : tensor<4xf32> buffer init = "s"
func.func @returned() -> (tensor<4xf32> {dlc.name = "old"}) {
  %s = dlc.read @s : tensor<4xf32>
  %s1 = dlc.neg %s : (tensor<4xf32>) -> tensor<4xf32>
  dlc.write @s, %s1 : tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----
// Equal clusters are one kernel; an input's name and limit are its port's.
// CHECK: exec.program @shared
// CHECK: exec.port "input" "ids" %{{.*}} {limit = 7 : i64} : memref<4xi64>
// CHECK: exec.launch @[[K:k0_tanh]]
// CHECK: exec.call "gather"
// CHECK: exec.launch @[[K]]
// CHECK: exec.kernel @[[K]]
// CHECK-NOT: exec.kernel
func.func @shared(%i: tensor<4xi64> {dlc.name = "ids", dlc.limit = 7 : i64}, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = dlc.tanh %t : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dlc.gather %0, %i {axis = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  %2 = dlc.tanh %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----
// A gradient that the rest of the backward graph reads too: a copy of it is reduced.
// CHECK-LABEL: exec.program @reader
// CHECK: exec.call "matmul" {{.*}} outs(%[[D:[0-9a-z]+]] :
// CHECK-NEXT: exec.copy %[[D]] to %[[COPY:[0-9a-z]+]]
// CHECK-NEXT: exec.all_reduce
// CHECK-NEXT: exec.call "matmul" ins(%{{.*}}, %[[D]] :
// CHECK: exec.wait
func.func @reader(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.all_reduce %0 {bucket = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dlc.matmul %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----
// What is written to a state must have arrived.
// CHECK-LABEL: exec.program @write
// CHECK: exec.all_reduce
// CHECK: exec.wait
// CHECK: exec.copy
dlc.state @c : tensor<4x4xf32> buffer init = "c"
func.func @write(%x: tensor<4x4xf32>) {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.all_reduce %0 {bucket = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  dlc.write @c, %1 : tensor<4x4xf32>
  return
}

// -----
// One gradient of two parameters (a + b) in two buckets: each bucket has its own.
// CHECK-LABEL: exec.program @twice
// CHECK: exec.call "matmul" {{.*}} outs(%[[D:[0-9a-z]+]] :
// CHECK-NEXT: exec.copy %[[D]] to
// CHECK-NEXT: exec.all_reduce %{{.*}} bucket = 0
// CHECK-NEXT: exec.copy %[[D]] to
// CHECK-NEXT: exec.all_reduce %{{.*}} bucket = 1
func.func @twice(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = dlc.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.all_reduce %0 {bucket = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dlc.all_reduce %0 {bucket = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}
