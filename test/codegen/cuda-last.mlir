// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s

// A block has 64 of the 512 columns of a part. The last one of 64 to end for them has drawn ticket 63, which makes the
// counter zero again. A fence of the device stands between all stores and the ticket, another between that and what the
// last block reads, which must not come by the cache of constant data.
// CHECK: .global .align 4 .b8 sums_$_tickets[32];
// CHECK: .entry sums(
// CHECK: st.global
// CHECK: bar{{(rier)?}}.sync
// CHECK: fence.acq_rel.gpu
// CHECK: atom{{(\.relaxed)?}}{{(\.gpu)?}}.global{{(\.gpu)?}}.inc.u32 {{.*}}, 63
// CHECK: fence.acq_rel.gpu
// CHECK: bar{{(rier)?}}.sync
// CHECK-NOT: ld.global.nc
// CHECK: ld.global
// CHECK-NOT: ld.global.nc
// CHECK: ret
exec.kernel @sums {
^bb0(%x: tensor<64x4096x512xf32>):
  %a = dlc.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<64x4096x512xf32>) -> tensor<64x1x512xf32>
  exec.last
  %b = dlc.reduce_sum %a {axes = array<i64: 0>, keepdims} : (tensor<64x1x512xf32>) -> tensor<1x1x512xf32>
  dlc.yield %a, %b : tensor<64x1x512xf32>, tensor<1x1x512xf32>
}
