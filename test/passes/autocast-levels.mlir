// RUN: %dlc-opt %s --dlc-autocast=amp=O2 | FileCheck %s
// RUN: %dlc-opt %s --dlc-autocast=amp=O3 | FileCheck %s --check-prefix=O3
// RUN: %dlc-opt %s --dlc-autocast="amp=O2 amp-deny=relu" | FileCheck %s --check-prefix=DENY

// At O2 all but the loss is half, be it between products or not. Parameters stay f32 and are cast once; a norm reads
// and writes half with f32 parameters and statistics.
// CHECK: dlc.state @w : tensor<4x4xf32>
// CHECK: dlc.state @mean : tensor<4xf32>
// CHECK: @train_step
// CHECK: [[W:%.*]] = dlc.read @w : tensor<4x4xf32>
// CHECK: [[WH:%.*]] = dlc.cast [[W]] : {{.*}} -> tensor<4x4xbf16>
// CHECK-NOT: dlc.cast [[W]]
// CHECK: dlc.exp {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.matmul {{.*}}, [[WH]] : {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.batch_norm {{.*}} -> (tensor<4x4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK: dlc.write @mean, {{.*}} : tensor<4xf32>
// CHECK: dlc.relu {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.matmul {{.*}}, [[WH]] : {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.softmax {{.*}} -> tensor<4x4xbf16>
// CHECK: dlc.sub {{.*}} -> tensor<4x4xf32>
// CHECK: dlc.mul {{.*}} -> tensor<4x4xf32>
// CHECK: dlc.reduce_mean {{.*}} -> tensor<f32>
// CHECK: return {{.*}} : tensor<f32>

// At O3 parameters and buffers are half; constants, counters and the loss are not. Statistics are computed in f32 and
// rounded when they are kept.
// O3: dlc.state @w : tensor<4x4xbf16> param init = "w" trainable
// O3: dlc.state @mean : tensor<4xbf16> buffer
// O3: dlc.state @mask : tensor<4x4xf32> const
// O3: dlc.state @count : tensor<i64> buffer
// O3: [[W:%.*]] = dlc.read @w : tensor<4x4xbf16>
// O3: [[M:%.*]] = dlc.read @mean : tensor<4xbf16>
// O3: [[MF:%.*]] = dlc.cast [[M]] : (tensor<4xbf16>) -> tensor<4xf32>
// O3: dlc.matmul {{.*}}, [[W]] : {{.*}} -> tensor<4x4xbf16>
// O3: [[Y:%.*]], [[NEW:%.*]], {{%.*}}, {{%.*}}, {{%.*}} = dlc.batch_norm {{%.*}}, [[MF]]
// O3: [[NH:%.*]] = dlc.cast [[NEW]] : (tensor<4xf32>) -> tensor<4xbf16>
// O3: dlc.write @mean, [[NH]] : tensor<4xbf16>
// O3: dlc.sub {{.*}} -> tensor<4x4xf32>

// DENY: dlc.relu {{.*}} -> tensor<4x4xf32>
dlc.state @w : tensor<4x4xf32> param init = "w" trainable
dlc.state @mean : tensor<4xf32> buffer init = "mean"
dlc.state @mask : tensor<4x4xf32> const init = "mask"
dlc.state @count : tensor<i64> buffer init = "count"
func.func @train_step(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  %w = dlc.read @w : tensor<4x4xf32>
  %m = dlc.read @mean : tensor<4xf32>
  %mask = dlc.read @mask : tensor<4x4xf32>
  %0 = dlc.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dlc.matmul %0, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2, %nm, %nv, %sm, %sv = dlc.batch_norm %1, %m, %m, %m, %m {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64} : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  dlc.write @mean, %nm : tensor<4xf32>
  %3 = dlc.relu %2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = dlc.matmul %3, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = dlc.add %4, %mask : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = dlc.softmax %5 {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = dlc.sub %6, %y {dlc.loss} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %8 = dlc.mul %7, %7 {dlc.loss} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = dlc.reduce_mean %8 {axes = array<i64: 0, 1>, dlc.loss} : (tensor<4x4xf32>) -> tensor<f32>
  return %9 : tensor<f32>
}
