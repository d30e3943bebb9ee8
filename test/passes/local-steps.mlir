// RUN: %dlc-opt %s --dlc-local-steps="ddp=2 sync-every=4" | FileCheck %s
// RUN: %dlc-opt %s --dlc-local-steps="ddp=2 sync-every=4 outer-optimizer=sgd(lr=1) bucket-mb=1e-5" | FileCheck %s --check-prefix=MEAN
// RUN: %dlc-opt %s --dlc-local-steps="ddp=1 sync-every=4" 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not %dlc-opt %s --dlc-local-steps="ddp=2 sync-every=4 outer-optimizer=adam" 2>&1 | FileCheck %s --check-prefix=ADAM

// Moments are each rank's own.
// CHECK-DAG: dlc.state @a.m : tensor<3xf32> error
// CHECK-DAG: dlc.state @a.sync_anchor : tensor<3xf32> factor init = @a of = @a
// CHECK-DAG: dlc.state @a.sync_m : tensor<3xf32> factor init = 0.000000e+00 : f32 of = @a
// CHECK: @train_step
// CHECK-NOT: all_reduce
// CHECK: @sync_step()
// CHECK: [[START:%.*]] = dlc.read @a.sync_anchor
// CHECK: [[NOW:%.*]] = dlc.read @a :
// CHECK: [[MOVED:%.*]] = dlc.sub [[START]], [[NOW]]
// CHECK: [[G:%.*]] = dlc.all_reduce [[MOVED]] {bucket = 0 : i64, of = @a}
// CHECK: dlc.all_reduce {{.*}} {bucket = 0 : i64, of = @b}
// CHECK: [[M:%.*]] = dlc.read @a.sync_m
// CHECK: [[NEXT:%.*]] = dlc.sub [[START]]
// CHECK: dlc.write @a, [[NEXT]]
// CHECK: dlc.write @a.sync_anchor, [[NEXT]]
// CHECK: dlc.write @a.sync_m

// MEAN-NOT: sync_m
// MEAN: dlc.all_reduce {{.*}} {bucket = 0 : i64, of = @a}
// MEAN: dlc.all_reduce {{.*}} {bucket = 1 : i64, of = @b}
// MEAN-NOT: sync_m

// ALONE: warning: --sync-every changes nothing for one rank: compile with --ddp=2 or more
// ALONE-NOT: sync_step
// ADAM: outer-optimizer: expected sgd(lr=NUMBER,momentum=NUMBER,nesterov=true|false), found 'adam'
module {
  dlc.state @a : tensor<3xf32> param init = "a" trainable
  dlc.state @b : tensor<3xf32> param init = "b" trainable
  dlc.state @a.m : tensor<3xf32> moment init = 0.000000e+00 : f32 of = @a
  func.func @train_step(%x: tensor<3xf32>) {
    %a = dlc.read @a : tensor<3xf32>
    %b = dlc.read @b : tensor<3xf32>
    %m = dlc.read @a.m : tensor<3xf32>
    %n = dlc.add %m, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %c = dlc.sub %a, %n : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %d = dlc.sub %b, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    dlc.write @a, %c : tensor<3xf32>
    dlc.write @a.m, %n : tensor<3xf32>
    dlc.write @b, %d : tensor<3xf32>
    return
  }
}
