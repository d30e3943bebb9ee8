// RUN: dlc-opt --dlc-place --dlc-decompose --dlc-split-reductions --dlc-fuse --dlc-plan-memory --dlc-schedule-kernels --dlc-map-threads %s | FileCheck %s --check-prefix=MAP
// RUN: dlc-opt --dlc-place --dlc-decompose --dlc-split-reductions --dlc-fuse --dlc-plan-memory %s | dlc-codegen - --sm=90 --emit=ptx | FileCheck %s --check-prefix=PTX
// RUN: dlc-opt --dlc-place --dlc-decompose --dlc-split-reductions --dlc-fuse --dlc-plan-memory --dlc-schedule-kernels %s | FileCheck %s --check-prefix=COST

// A block looks for the few updates of 64 rows of a large table, then adds up those of each row: 1293 MFLOP are
// three operations on each pair of row and index, and two on each element (the sum is f32).
// MAP: #exec.schedule<columns{{.*}} threads = #exec.threads<grid = 786, block = 256, vector = 4, across = 32, sparse>
// COST: exec.kernel {{.*}}flops = 1292638033
func.func @eval_step(%i: tensor<8192xi64>, %u: tensor<8192x768xbf16>) -> tensor<50257x768xbf16> {
  %y = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<8192xi64>, tensor<8192x768xbf16>) -> tensor<50257x768xbf16>
  return %y : tensor<50257x768xbf16>
}
// The threads look at eight indices each, and list what they find. Of the list, eight updates are under way together.
// PTX-COUNT-8: ld.global.b64
// PTX-COUNT-8: vote.sync.ballot
// PTX: bar.sync
// PTX: vote.sync.ballot
// PTX-COUNT-8: ld.global.v2.b32
// PTX: add

// Many updates of few rows: threads share each sum.
// MAP: #exec.schedule<columns{{.*}} threads = #exec.threads<grid = {{[0-9]+}}, block = {{[0-9]+}}, vector = 8, across = {{[0-9]+}}>
func.func @train_step(%i: tensor<8192xi64>, %u: tensor<8192x768xbf16>) -> tensor<2x768xbf16> {
  %y = dlc.scatter_add %i, %u {axis = 0 : i64} : (tensor<8192xi64>, tensor<8192x768xbf16>) -> tensor<2x768xbf16>
  return %y : tensor<2x768xbf16>
}

// The gradient of an embedding with a padding row: one kernel leaves the row out of the updates, and the
// first sum's, which is sparse, adds them up.
// MAP: exec.kernel @k{{.*}}_select schedule = #exec.schedule<elementwise
// MAP-NOT: #exec.schedule<columns
func.func @predict(%i: tensor<8192xi64>, %u: tensor<8192x768xbf16>) -> tensor<50257x768xbf16> {
  %p = dlc.constant dense<1> : tensor<i64>
  %z = dlc.constant dense<0.0> : tensor<bf16>
  %c = dlc.compare eq %i, %p : (tensor<8192xi64>, tensor<i64>) -> tensor<8192xi1>
  %r = dlc.reshape %c : (tensor<8192xi1>) -> tensor<8192x1xi1>
  %b = dlc.broadcast %r : (tensor<8192x1xi1>) -> tensor<8192x768xi1>
  %s = dlc.select %b, %z, %u : (tensor<8192x768xi1>, tensor<bf16>, tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %y = dlc.scatter_add %i, %s {axis = 0 : i64} : (tensor<8192xi64>, tensor<8192x768xbf16>) -> tensor<50257x768xbf16>
  return %y : tensor<50257x768xbf16>
}
