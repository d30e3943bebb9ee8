// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients=optimizer=sgd | FileCheck %s --check-prefixes=CHECK,SORTS
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients=optimizer=adagrad | FileCheck %s
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients="optimizer=sgd sparse-embeddings=off" | FileCheck %s --check-prefix=WHOLE
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients="optimizer=sgd momentum=0.9" | FileCheck %s --check-prefix=WHOLE
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients="optimizer=sgd weight-decay=0.1" | FileCheck %s --check-prefix=WHOLE
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients=optimizer=adam | FileCheck %s --check-prefix=WHOLE
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients="optimizer=adam sparse-embeddings=lazy" 2>&1 | FileCheck %s --check-prefix=LAZY
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients="optimizer=lamb sparse-embeddings=lazy" 2>&1 | FileCheck %s --check-prefix=LAMB
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients=accumulate=2 2>&1 | FileCheck %s --check-prefixes=WHOLE,ADDED
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients="ddp=2 zero=1" 2>&1 | FileCheck %s --check-prefixes=WHOLE,ZERO
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients=stats 2>&1 | FileCheck %s --check-prefixes=WHOLE,STATS
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients=target=cuda | FileCheck %s --check-prefixes=CHECK,PAIRS
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients="target=cuda ddp=2 sparse-embeddings=lazy" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients="optimizer=adagrad moments=8bit" 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients=ddp=2 | FileCheck %s --check-prefix=RANKS
// RUN: %dlc-opt %s --split-input-file --dlc-row-gradients="optimizer=adam optimizer-group=w:sgd(lr=1)" | FileCheck %s --check-prefix=GROUP

// CHECK: module
// CHECK: [[INDEX:%.*]] = dlc.reshape %arg0 : (tensor<2x2xi64>) -> tensor<4xi64>
// CHECK: [[UPDATE:%.*]] = dlc.reshape %arg1 : (tensor<2x2x3xf32>) -> tensor<4x3xf32>
// CHECK: [[ROWS:%.*]], [[SUMS:%.*]] = dlc.unique_rows [[INDEX]], [[UPDATE]] {size = 16 : i64}
// CHECK-NEXT: dlc.gradient @w, [[SUMS]] at [[ROWS]] : tensor<4x3xf32>, tensor<4xi64>
// CHECK-NOT: scatter_add

// It is said where it is another function, and where a flag is in the way.
// LAZY: remark: --sparse-embeddings=lazy: adam moves 'w' in rows that a step looks up; other rows and their moments stay as they are
// LAZY: remark: the gradient of 'w' is of the whole table: the table is not only looked up
// LAZY: dlc.unique_rows
// LAMB: remark: the gradient of 'w' is of the whole table: lamb computes with all of it
// ADDED: remark: the gradient of 'w' is of the whole table: --accumulate adds up whole gradients
// ZERO: remark: the gradient of 'w' is of the whole table: --zero splits whole gradients among the ranks
// STATS: remark: the gradient of 'w' is of the whole table: --stats measures whole gradients
// MANY: remark: the gradient of 'w_many' is of the whole table: --target=cuda compares all pairs of at most 131072 lookups, and there are 131074

// WHOLE: module
// WHOLE-NOT: dlc.unique_rows
// WHOLE: dlc.gradient @w, {{%.*}} : tensor<16x3xf32>

// Rows of two ranks are half of the table.
// RANKS: dlc.unique_rows
// GROUP: dlc.unique_rows
dlc.state @w : tensor<16x3xf32> param init = "w" trainable
func.func @train_step(%i: tensor<2x2xi64>, %u: tensor<2x2x3xf32>) {
  %g = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<2x2xi64>, tensor<2x2x3xf32>) -> tensor<16x3xf32>
  dlc.gradient @w, %g : tensor<16x3xf32>
  return
}

// -----

// Of several look-ups, with what is behind their sum.
// CHECK: module
// CHECK: [[INDEX:%.*]] = dlc.concat %arg0, %arg1 {axis = 0 : i64} : (tensor<2xi64>, tensor<3xi64>) -> tensor<5xi64>
// CHECK: [[UPDATE:%.*]] = dlc.concat %arg2, %arg3 {axis = 0 : i64} : (tensor<2x3xbf16>, tensor<3x3xbf16>) -> tensor<5x3xbf16>
// CHECK: [[ROWS:%.*]], [[SUMS:%.*]] = dlc.unique_rows [[INDEX]], [[UPDATE]] {size = 16 : i64}
// CHECK: [[WIDE:%.*]] = dlc.cast [[SUMS]] : (tensor<5x3xbf16>) -> tensor<5x3xf32>
// CHECK: [[SCALED:%.*]] = dlc.mul [[WIDE]], %arg4 : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xf32>
// CHECK: dlc.gradient @w, [[SCALED]] at [[ROWS]]
// CHECK-NOT: dlc.add
dlc.state @w : tensor<16x3xf32> param init = "w" trainable
func.func @train_step(%i: tensor<2xi64>, %j: tensor<3xi64>, %u: tensor<2x3xbf16>, %v: tensor<3x3xbf16>, %s: tensor<f32>) {
  %a = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<2xi64>, tensor<2x3xbf16>) -> tensor<16x3xbf16>
  %b = dlc.scatter_add %j, %v {axis = 0 : i64} : (tensor<3xi64>, tensor<3x3xbf16>) -> tensor<16x3xbf16>
  %sum = dlc.add %a, %b : (tensor<16x3xbf16>, tensor<16x3xbf16>) -> tensor<16x3xbf16>
  %wide = dlc.cast %sum : (tensor<16x3xbf16>) -> tensor<16x3xf32>
  %g = dlc.mul %wide, %s : (tensor<16x3xf32>, tensor<f32>) -> tensor<16x3xf32>
  dlc.gradient @w, %g : tensor<16x3xf32>
  return
}

// -----

// A table that a product reads, too, one of which more than half is looked up, one along another axis, and a gradient that has
// another reader stay whole.
// CHECK: module
// CHECK-NOT: dlc.unique_rows
dlc.state @w : tensor<16x3xf32> param init = "w" trainable
dlc.state @small : tensor<3x3xf32> param init = "small" trainable
dlc.state @columns : tensor<3x16xf32> param init = "columns" trainable
dlc.state @read : tensor<16x3xf32> param init = "read" trainable
func.func @train_step(%i: tensor<2xi64>, %u: tensor<2x3xf32>, %v: tensor<3x2xf32>, %d: tensor<16x3xf32>) -> tensor<16x3xf32> {
  %a = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<16x3xf32>
  %sum = dlc.add %a, %d : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<16x3xf32>
  dlc.gradient @w, %sum : tensor<16x3xf32>
  %b = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<3x3xf32>
  dlc.gradient @small, %b : tensor<3x3xf32>
  %c = dlc.scatter_add %i, %v {axis = 1 : i64} : (tensor<2xi64>, tensor<3x2xf32>) -> tensor<3x16xf32>
  dlc.gradient @columns, %c : tensor<3x16xf32>
  %r = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<2xi64>, tensor<2x3xf32>) -> tensor<16x3xf32>
  dlc.gradient @read, %r : tensor<16x3xf32>
  return %r : tensor<16x3xf32>
}

// -----

// Moments in blocks are those of tables of at least 4096 elements.
// CHECK: dlc.unique_rows
// BLOCKS-NOT: remark: the gradient of 'w'
// BLOCKS: remark: the gradient of 'w_table' is of the whole table: --moments=8bit updates whole blocks
dlc.state @w_table : tensor<2048x2xf32> param init = "w_table" trainable
func.func @train_step(%i: tensor<2xi64>, %u: tensor<2x2xf32>) {
  %g = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<2xi64>, tensor<2x2xf32>) -> tensor<2048x2xf32>
  dlc.gradient @w_table, %g : tensor<2048x2xf32>
  return
}

// -----

// Where every pair of indices is compared, 1024 lookups take longer than all of a small table.
// SORTS: dlc.unique_rows
// PAIRS-NOT: dlc.unique_rows
dlc.state @narrow : tensor<2048x2xf32> param init = "narrow" trainable
func.func @train_step(%i: tensor<1024xi64>, %u: tensor<1024x2xf32>) {
  %g = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<1024xi64>, tensor<1024x2xf32>) -> tensor<2048x2xf32>
  dlc.gradient @narrow, %g : tensor<2048x2xf32>
  return
}

// -----

// So many, of two ranks, are not compared even if the optimizer is to move no other rows.
// CHECK: dlc.unique_rows
dlc.state @w_many : tensor<9000000x64xf32> param init = "w_many" trainable
func.func @train_step(%i: tensor<65537xi64>, %u: tensor<65537x64xf32>) {
  %g = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<65537xi64>, tensor<65537x64xf32>) -> tensor<9000000x64xf32>
  dlc.gradient @w_many, %g : tensor<9000000x64xf32>
  return
}
