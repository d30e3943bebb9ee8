// RUN: %dlc-opt %s --dlc-fuse --dlc-join-casts --split-input-file | FileCheck %s --check-prefix=MARK
// RUN: %dlc-opt %s --dlc-fuse --dlc-join-casts --dlc-plan-memory --split-input-file | FileCheck %s

// One launch before all others casts two weights and the norm's scale between them, which is read as it is; each result has
// half its parameter's offset.
// MARK-LABEL: func @train_step
// MARK-COUNT-2: dlc.fused({{.*}}) {dlc.joined}
// MARK-NOT: dlc.joined
// CHECK: exec.state @a : {{.*}} in @param at 0
// CHECK: exec.state @s : {{.*}} in @param at 256
// CHECK: exec.state @b : {{.*}} in @param at 320
// CHECK: exec.program @train_step
// CHECK: %[[FROM:[0-9a-z]+]] = exec.buffer @param at 0 : memref<84xf32>
// CHECK: %[[TO:[0-9a-z]+]] = exec.buffer @scratch at [[#AT:]] : memref<84xbf16>
// CHECK: %[[A:[0-9a-z]+]] = exec.buffer @scratch at [[#AT]] : memref<8x8xbf16>
// CHECK: %[[B:[0-9a-z]+]] = exec.buffer @scratch at [[#AT+160]] : memref<2x2xbf16>
// CHECK: exec.launch @[[CAST:k[0-9]+]] ins(%[[FROM]] : {{.*}}) outs(%[[TO]] :
// CHECK-NEXT: exec.call "matmul" ins(%{{.*}}, %[[A]]
// CHECK-NEXT: exec.launch @{{.*}}_mul
// CHECK-NEXT: exec.call "matmul" ins(%[[B]], %[[B]]
// CHECK: exec.kernel @[[CAST]]
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<84xf32>):
// CHECK-NEXT: dlc.cast
// CHECK-NEXT: dlc.yield
dlc.state @a : tensor<8x8xf32> param init = "a" trainable
dlc.state @s : tensor<8xf32> param init = "s" trainable
dlc.state @b : tensor<2x2xf32> param init = "b" trainable
func.func @train_step(%x: tensor<8x8xbf16>, %y: tensor<8xf32>) -> (tensor<8x8xbf16>, tensor<2x2xbf16>, tensor<8xf32>) {
  %a = dlc.read @a : tensor<8x8xf32>
  %0 = dlc.cast %a : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %1 = dlc.matmul %x, %0 by = library : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %s = dlc.read @s : tensor<8xf32>
  %2 = dlc.mul %y, %s : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = dlc.read @b : tensor<2x2xf32>
  %3 = dlc.cast %b : (tensor<2x2xf32>) -> tensor<2x2xbf16>
  %4 = dlc.matmul %3, %3 by = library : (tensor<2x2xbf16>, tensor<2x2xbf16>) -> tensor<2x2xbf16>
  %a1 = dlc.neg %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.write @a, %a1 : tensor<8x8xf32>
  dlc.write @s, %2 : tensor<8xf32>
  return %1, %4, %2 : tensor<8x8xbf16>, tensor<2x2xbf16>, tensor<8xf32>
}

// -----
// MARK-LABEL: func @apart
// MARK-COUNT-2: dlc.joined
// A large table that stays in f32 between two weights is not cast along; each is alone then, and a launch as before.
// CHECK: exec.program @apart
// CHECK-COUNT-2: exec.launch @{{.*}} ins({{.*}} : memref<8x8xf32>) outs({{.*}} : memref<8x8xbf16>)
// CHECK-NOT: exec.launch
dlc.state @a : tensor<8x8xf32> param init = "a" trainable
dlc.state @table : tensor<1024x64xf32> param init = "table" trainable
dlc.state @b : tensor<8x8xf32> param init = "b" trainable
func.func @apart() -> tensor<8x8xbf16> {
  %a = dlc.read @a : tensor<8x8xf32>
  %0 = dlc.cast %a : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %b = dlc.read @b : tensor<8x8xf32>
  %1 = dlc.cast %b : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %2 = dlc.matmul %0, %1 by = library : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  return %2 : tensor<8x8xbf16>
}

// -----
// What does more than cast, or casts to wider elements, is not marked; nor is a cast of what is computed.
// CHECK: exec.program @others
// MARK-LABEL: func @others
// MARK-NOT: dlc.joined
// MARK-LABEL: func @gradients
// MARK-COUNT-4: dlc.joined
// MARK-LABEL: func @padded
dlc.state @a : tensor<8xf32> param init = "a" trainable
dlc.state @h : tensor<8xbf16> param init = "h" trainable
func.func @others(%x: tensor<8xf32>) -> (tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>) {
  %a = dlc.read @a : tensor<8xf32>
  %0 = dlc.neg %a : (tensor<8xf32>) -> tensor<8xf32>
  %1 = dlc.cast %0 : (tensor<8xf32>) -> tensor<8xbf16>
  %h = dlc.read @h : tensor<8xbf16>
  %2 = dlc.cast %h : (tensor<8xbf16>) -> tensor<8xf32>
  %3 = dlc.cast %x : (tensor<8xf32>) -> tensor<8xbf16>
  return %1, %2, %3 : tensor<8xbf16>, tensor<8xf32>, tensor<8xbf16>
}

// -----
// Gradients that follow each other in one bucket lie side by side as halves, and one launch casts them where the last is there.
// Behind them lies the norm's, which no cast makes, so the next one of the bucket is a launch alone; and so is the other bucket's.
// CHECK: exec.program @gradients
// CHECK-DAG: %[[HALVES:[0-9a-z]+]] = exec.buffer @scratch at [[BEGIN:[0-9]+]] : memref<128xbf16>
// CHECK-DAG: %[[A:[0-9a-z]+]] = exec.buffer @scratch at [[BEGIN]] : memref<8x8xbf16>
// CHECK-DAG: %[[ALL:[0-9a-z]+]] = exec.buffer @gradient at 0 : memref<128xf32>
// CHECK-DAG: %[[S:[0-9a-z]+]] = exec.buffer @gradient at 512 : memref<8xf32>
// CHECK-DAG: %[[C:[0-9a-z]+]] = exec.buffer @gradient at 576 : memref<8x8xf32>
// CHECK-DAG: %[[D:[0-9a-z]+]] = exec.buffer @gradient at 832 : memref<8x8xf32>
// CHECK: exec.call "matmul" {{.*}} outs(%[[A]] :
// CHECK-NEXT: exec.call "matmul"
// CHECK-NEXT: exec.launch @{{.*}} ins(%[[HALVES]] : {{.*}}) outs(%[[ALL]] :
// CHECK-NEXT: exec.launch {{.*}} outs(%[[S]] :
// CHECK-NEXT: exec.call "matmul"
// CHECK-NEXT: exec.launch {{.*}} outs(%[[C]] :
// CHECK-NEXT: exec.all_reduce
// CHECK-NEXT: exec.call "matmul"
// CHECK-NEXT: exec.launch {{.*}} outs(%[[D]] :
// CHECK-NEXT: exec.all_reduce
dlc.state @a : tensor<8x8xf32> param init = "a" trainable
dlc.state @b : tensor<8x8xf32> param init = "b" trainable
dlc.state @s : tensor<8xf32> param init = "s" trainable
dlc.state @c : tensor<8x8xf32> param init = "c" trainable
dlc.state @d : tensor<8x8xf32> param init = "d" trainable
func.func @gradients(%x: tensor<8x8xbf16>, %y: tensor<8xf32>) {
  %0 = dlc.matmul %x, %x by = library : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = dlc.cast %0 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %da = dlc.all_reduce %1 {bucket = 0 : i64, of = @a} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = dlc.matmul %x, %x by = library {trans_a} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %3 = dlc.cast %2 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %db = dlc.all_reduce %3 {bucket = 0 : i64, of = @b} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = dlc.neg %y : (tensor<8xf32>) -> tensor<8xf32>
  %ds = dlc.all_reduce %4 {bucket = 0 : i64, of = @s} : (tensor<8xf32>) -> tensor<8xf32>
  %5 = dlc.matmul %x, %x by = library {trans_b} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %6 = dlc.cast %5 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %dc = dlc.all_reduce %6 {bucket = 0 : i64, of = @c} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %7 = dlc.matmul %x, %x by = library {trans_a, trans_b} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %8 = dlc.cast %7 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %dd = dlc.all_reduce %8 {bucket = 1 : i64, of = @d} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.write @a, %da : tensor<8x8xf32>
  dlc.write @b, %db : tensor<8x8xf32>
  dlc.write @s, %ds : tensor<8xf32>
  dlc.write @c, %dc : tensor<8x8xf32>
  dlc.write @d, %dd : tensor<8x8xf32>
  return
}

// -----
// The gradient of 3 elements fills 64 bytes with zeros, which a norm of all gradients reads: nothing is cast along with them.
// CHECK: exec.program @padded
// CHECK-COUNT-2: exec.launch {{.*}} : memref<3xf32>)
// CHECK-NOT: exec.launch
dlc.state @a : tensor<3xf32> param init = "a" trainable
dlc.state @b : tensor<3xf32> param init = "b" trainable
func.func @padded(%x: tensor<1x1xbf16>, %y: tensor<1x3xbf16>) {
  %0 = dlc.matmul %x, %y by = library : (tensor<1x1xbf16>, tensor<1x3xbf16>) -> tensor<1x3xbf16>
  %1 = dlc.reshape %0 : (tensor<1x3xbf16>) -> tensor<3xbf16>
  %2 = dlc.cast %1 : (tensor<3xbf16>) -> tensor<3xf32>
  %da = dlc.all_reduce %2 {of = @a} : (tensor<3xf32>) -> tensor<3xf32>
  %3 = dlc.matmul %x, %y by = library {trans_a} : (tensor<1x1xbf16>, tensor<1x3xbf16>) -> tensor<1x3xbf16>
  %4 = dlc.reshape %3 : (tensor<1x3xbf16>) -> tensor<3xbf16>
  %5 = dlc.cast %4 : (tensor<3xbf16>) -> tensor<3xf32>
  %db = dlc.all_reduce %5 {of = @b} : (tensor<3xf32>) -> tensor<3xf32>
  dlc.write @a, %da : tensor<3xf32>
  dlc.write @b, %db : tensor<3xf32>
  return
}

// -----
// What is read before the last one is there is cast at once.
// CHECK: exec.program @early
// CHECK: exec.call "matmul"
// CHECK-NEXT: exec.launch {{.*}} : memref<8x8xf32>)
// CHECK-NEXT: exec.launch {{.*}} : memref<8x8xbf16>)
// CHECK-NEXT: exec.call "matmul"
// CHECK-NEXT: exec.call "matmul"
// CHECK-NEXT: exec.launch {{.*}} : memref<8x8xf32>)
dlc.state @a : tensor<8x8xf32> param init = "a" trainable
dlc.state @b : tensor<8x8xf32> param init = "b" trainable
func.func @early(%x: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  %0 = dlc.matmul %x, %x by = library : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = dlc.cast %0 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %da = dlc.all_reduce %1 {of = @a} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = dlc.neg %da : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = dlc.cast %2 : (tensor<8x8xf32>) -> tensor<8x8xbf16>
  %4 = dlc.matmul %x, %3 by = library : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %5 = dlc.matmul %x, %3 by = library {trans_b} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %6 = dlc.cast %5 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %db = dlc.all_reduce %6 {of = @b} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.write @a, %da : tensor<8x8xf32>
  dlc.write @b, %db : tensor<8x8xf32>
  return %4 : tensor<8x8xbf16>
}

// -----
// Between two weights in the program a norm's scale is updated: it lies behind them, and their gradients are one cast, which
// a norm of all reads in that order.
// MARK-LABEL: func @sorted
// MARK: %[[A:.*]] = dlc.all_reduce {{.*}} {of = @a}
// MARK: %[[S:.*]] = dlc.all_reduce {{.*}} {of = @s}
// MARK: %[[B:.*]] = dlc.all_reduce {{.*}} {of = @b}
// MARK: dlc.global_norm %[[A]], %[[B]], %[[S]]
// MARK: dlc.write @a
// MARK-NEXT: dlc.write @b
// MARK-NEXT: dlc.write @s
// CHECK: exec.state @a : {{.*}} at 0
// CHECK: exec.state @s : {{.*}} at 512
// CHECK: exec.state @b : {{.*}} at 256
// CHECK: exec.program @sorted
// CHECK: exec.call "matmul"
// CHECK-NEXT: exec.launch {{.*}} outs({{.*}} : memref<8xf32>)
// CHECK-NEXT: exec.call "matmul"
// CHECK-NEXT: exec.launch {{.*}} : memref<128xbf16>) outs({{.*}} : memref<128xf32>)
// CHECK-NEXT: exec.call "global_norm"
// CHECK-COUNT-3: exec.launch @{{.*}}_sub
// CHECK-NOT: exec.launch
dlc.state @a : tensor<8x8xf32> param init = "a" trainable
dlc.state @s : tensor<8xf32> param init = "s" trainable
dlc.state @b : tensor<8x8xf32> param init = "b" trainable
func.func @sorted(%x: tensor<8x8xbf16>, %y: tensor<4x8xf32>) -> tensor<f32> {
  %0 = dlc.matmul %x, %x by = library : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = dlc.cast %0 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %da = dlc.all_reduce %1 {of = @a} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  %ds = dlc.all_reduce %2 {of = @s} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = dlc.matmul %x, %x by = library {trans_a} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %4 = dlc.cast %3 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %db = dlc.all_reduce %4 {of = @b} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n = dlc.global_norm %da, %ds, %db {dlc.of_parts} : (tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>) -> tensor<f32>
  %a = dlc.read @a : tensor<8x8xf32>
  %a1 = dlc.sub %a, %da : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.write @a, %a1 : tensor<8x8xf32>
  %s = dlc.read @s : tensor<8xf32>
  %s1 = dlc.sub %s, %ds : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  dlc.write @s, %s1 : tensor<8xf32>
  %b = dlc.read @b : tensor<8x8xf32>
  %b1 = dlc.sub %b, %db : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.write @b, %b1 : tensor<8x8xf32>
  return %n : tensor<f32>
}

// -----
// Where another kernel writes a moment, updates stay in their order, as that one does.
// MARK-LABEL: func @apart_from_moments
// MARK: dlc.write @a,
// MARK: dlc.write @s,
// MARK: dlc.write @b,
// CHECK: exec.program @apart_from_moments
// CHECK-COUNT-2: exec.launch {{.*}} : memref<8x8xbf16>) outs({{.*}} : memref<8x8xf32>)
dlc.state @a : tensor<8x8xf32> param init = "a" trainable
dlc.state @s : tensor<8xf32> param init = "s" trainable
dlc.state @b : tensor<8x8xf32> param init = "b" trainable
dlc.state @s.m : tensor<8xf32> moment init = 0.0 : f32 of = @s
func.func @apart_from_moments(%x: tensor<8x8xbf16>, %y: tensor<4x8xf32>) {
  %0 = dlc.matmul %x, %x by = library : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = dlc.cast %0 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %da = dlc.all_reduce %1 {of = @a} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  %ds = dlc.all_reduce %2 {of = @s} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = dlc.matmul %x, %x by = library {trans_a} : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %4 = dlc.cast %3 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %db = dlc.all_reduce %4 {of = @b} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = dlc.read @a : tensor<8x8xf32>
  %a1 = dlc.sub %a, %da : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.write @a, %a1 : tensor<8x8xf32>
  %s = dlc.read @s : tensor<8xf32>
  %s1 = dlc.sub %s, %ds : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  dlc.write @s, %s1 : tensor<8xf32>
  %m = dlc.reduce_sum %y {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  dlc.write @s.m, %m : tensor<8xf32>
  %b = dlc.read @b : tensor<8x8xf32>
  %b1 = dlc.sub %b, %db : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  dlc.write @b, %b1 : tensor<8x8xf32>
  return
}
