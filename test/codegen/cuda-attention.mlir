// Flash attention: scores stay in registers, operands come by asynchronous copies, no atomics.
// RUN: dlc-codegen %s --sm=90 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=80 --emit=ptx | FileCheck %s
// RUN: dlc-codegen %s --sm=100 --emit=ptx | FileCheck %s

// CHECK-LABEL: .entry forward64(
// CHECK-NOT: .local
// CHECK-NOT: {{atom|red}}.
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync
// CHECK: st.global.v4.b32
// CHECK: ret;
exec.kernel @forward64 {
^bb0(%q: tensor<2x512x8x64xf16>, %k: tensor<2x512x8x64xf16>, %v: tensor<2x512x8x64xf16>):
  %y, %l = dlc.attention %q, %k, %v {scale = 0.125 : f64, layout = "bthd"} : (tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>) -> (tensor<2x512x8x64xf16>, tensor<2x8x512x1xf32>)
  dlc.yield %y, %l : tensor<2x512x8x64xf16>, tensor<2x8x512x1xf32>
}
// CHECK-LABEL: .entry queries64(
// CHECK-NOT: .local
// CHECK-NOT: {{atom|red}}.
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync
// CHECK: st.global.v4.b32
// CHECK: ret;
exec.kernel @queries64 {
^bb0(%dy: tensor<2x512x8x64xf16>, %q: tensor<2x512x8x64xf16>, %k: tensor<2x512x8x64xf16>, %v: tensor<2x512x8x64xf16>, %y: tensor<2x512x8x64xf16>, %l: tensor<2x8x512x1xf32>):
  %a, %b, %c = dlc.attention_backward %dy, %q, %k, %v, %y, %l {scale = 0.125 : f64, layout = "bthd"} : (tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x8x512x1xf32>) -> (tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>)
  dlc.yield %a : tensor<2x512x8x64xf16>
}
// CHECK-LABEL: .entry keys64(
// CHECK-NOT: .local
// CHECK-NOT: {{atom|red}}.
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync
// CHECK: st.global.v4.b32
// CHECK: ret;
exec.kernel @keys64 {
^bb0(%dy: tensor<2x512x8x64xf16>, %q: tensor<2x512x8x64xf16>, %k: tensor<2x512x8x64xf16>, %v: tensor<2x512x8x64xf16>, %y: tensor<2x512x8x64xf16>, %l: tensor<2x8x512x1xf32>):
  %a, %b, %c = dlc.attention_backward %dy, %q, %k, %v, %y, %l {scale = 0.125 : f64, layout = "bthd"} : (tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x8x512x1xf32>) -> (tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>)
  dlc.yield %b, %c : tensor<2x512x8x64xf16>, tensor<2x512x8x64xf16>
}
// CHECK-LABEL: .entry forward128(
// CHECK-NOT: .local
// CHECK-NOT: {{atom|red}}.
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync
// CHECK: st.global.v4.b32
// CHECK: ret;
exec.kernel @forward128 {
^bb0(%q: tensor<2x8x512x128xbf16>, %k: tensor<2x8x512x128xbf16>, %v: tensor<2x8x512x128xbf16>):
  %y, %l = dlc.attention %q, %k, %v {scale = 0.125 : f64, causal} : (tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>) -> (tensor<2x8x512x128xbf16>, tensor<2x8x512x1xf32>)
  dlc.yield %y, %l : tensor<2x8x512x128xbf16>, tensor<2x8x512x1xf32>
}
// CHECK-LABEL: .entry queries128(
// CHECK-NOT: .local
// CHECK-NOT: {{atom|red}}.
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync
// CHECK: st.global.v4.b32
// CHECK: ret;
exec.kernel @queries128 {
^bb0(%dy: tensor<2x8x512x128xbf16>, %q: tensor<2x8x512x128xbf16>, %k: tensor<2x8x512x128xbf16>, %v: tensor<2x8x512x128xbf16>, %y: tensor<2x8x512x128xbf16>, %l: tensor<2x8x512x1xf32>):
  %a, %b, %c = dlc.attention_backward %dy, %q, %k, %v, %y, %l {scale = 0.125 : f64, causal} : (tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x1xf32>) -> (tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>)
  dlc.yield %a : tensor<2x8x512x128xbf16>
}
// CHECK-LABEL: .entry keys128(
// CHECK-NOT: .local
// CHECK-NOT: {{atom|red}}.
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync
// CHECK: st.global.v4.b32
// CHECK: ret;
exec.kernel @keys128 {
^bb0(%dy: tensor<2x8x512x128xbf16>, %q: tensor<2x8x512x128xbf16>, %k: tensor<2x8x512x128xbf16>, %v: tensor<2x8x512x128xbf16>, %y: tensor<2x8x512x128xbf16>, %l: tensor<2x8x512x1xf32>):
  %a, %b, %c = dlc.attention_backward %dy, %q, %k, %v, %y, %l {scale = 0.125 : f64, causal} : (tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x1xf32>) -> (tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>)
  dlc.yield %b, %c : tensor<2x8x512x128xbf16>, tensor<2x8x512x128xbf16>
}
