// RUN: %dlc-opt %s --dlc-compress | FileCheck %s

// P's are in the bucket of their gradients, Q's in one of their own behind the next bucket, and behind those of norms over
// ranks. Gradients are whole where they are read first. What is left has no place of its own.
// CHECK: @train_step([[DA:%.*]]: tensor<8x4x5xf32>, [[DB:%.*]]: tensor<30x30xf32>
// CHECK: [[EA:%.*]] = dlc.read @a.error
// CHECK: [[SUM:%.*]] = dlc.add [[DA]], [[EA]]
// CHECK: [[MA:%.*]] = dlc.reshape [[SUM]] : (tensor<8x4x5xf32>) -> tensor<8x20xf32>
// CHECK: [[OLD:%.*]] = dlc.orthogonalize
// CHECK: [[P:%.*]] = dlc.matmul [[MA]], [[OLD]] {{.*}} -> tensor<8x2xf32>
// CHECK: [[PA:%.*]] = dlc.all_reduce [[P]] {bucket = 0 : i64} : (tensor<8x2xf32>)
// CHECK: dlc.all_reduce {{.*}} {bucket = 1 : i64} : (tensor<30x2xf32>)
// CHECK: [[OA:%.*]] = dlc.orthogonalize [[PA]]
// CHECK: [[Q:%.*]] = dlc.matmul [[MA]], [[OA]] {trans_a} {{.*}} -> tensor<20x2xf32>
// CHECK: [[NEW:%.*]] = dlc.all_reduce [[Q]] {bucket = 5 : i64} : (tensor<20x2xf32>)
// CHECK: [[V:%.*]] = dlc.all_reduce {{.*}} {bucket = 2 : i64} : (tensor<100xf32>)
// CHECK: dlc.all_reduce {{.*}} {bucket = 6 : i64} : (tensor<30x2xf32>)
// CHECK: [[SENT:%.*]] = dlc.matmul [[OA]], [[NEW]] {trans_b} {{.*}} -> tensor<8x20xf32>
// CHECK: [[GA:%.*]] = dlc.reshape [[SENT]] : (tensor<8x20xf32>) -> tensor<8x4x5xf32>
// CHECK: [[LEFT:%.*]] = dlc.sub [[MA]], [[SENT]]
// CHECK: [[ERROR:%.*]] = dlc.reshape [[LEFT]]
// CHECK: dlc.relu [[GA]]
// CHECK: dlc.relu [[V]]
// CHECK: dlc.relu
// CHECK: dlc.write @a.error, [[ERROR]]
// CHECK: dlc.write @a.q, [[NEW]]
// CHECK: dlc.write @b.error
// CHECK: dlc.write @b.q
dlc.state @a : tensor<8x4x5xf32> param init = "a" trainable
dlc.state @b : tensor<30x30xf32> param init = "b" trainable
dlc.state @v : tensor<100xf32> param init = "v" trainable
dlc.state @a.error : tensor<8x4x5xf32> error init = 0.0 : f32 of = @a
dlc.state @a.q : tensor<20x2xf32> factor init = 1.0 : f32 of = @a
dlc.state @b.error : tensor<30x30xf32> error init = 0.0 : f32 of = @b
dlc.state @b.q : tensor<30x2xf32> factor init = 1.0 : f32 of = @b
func.func @train_step(%da: tensor<8x4x5xf32>, %db: tensor<30x30xf32>, %dv: tensor<100xf32>) -> (tensor<8x4x5xf32>, tensor<30x30xf32>, tensor<100xf32>) {
  %n = dlc.relu %dv {dlc.bucket = 4 : i64} : (tensor<100xf32>) -> tensor<100xf32>
  %ga = dlc.all_reduce %da {bucket = 0 : i64, of = @a, error = @a.error, factor = @a.q} : (tensor<8x4x5xf32>) -> tensor<8x4x5xf32>
  %gb = dlc.all_reduce %db {bucket = 1 : i64, of = @b, error = @b.error, factor = @b.q} : (tensor<30x30xf32>) -> tensor<30x30xf32>
  %gv = dlc.all_reduce %n {bucket = 2 : i64, of = @v} : (tensor<100xf32>) -> tensor<100xf32>
  %0 = dlc.relu %ga : (tensor<8x4x5xf32>) -> tensor<8x4x5xf32>
  %1 = dlc.relu %gv : (tensor<100xf32>) -> tensor<100xf32>
  %2 = dlc.relu %gb : (tensor<30x30xf32>) -> tensor<30x30xf32>
  return %0, %2, %1 : tensor<8x4x5xf32>, tensor<30x30xf32>, tensor<100xf32>
}
