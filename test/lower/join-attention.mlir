// RUN: %dlc-opt %s --dlc-join-attention | FileCheck %s

// Thirds of a projection's rows, whose gradients nothing but their own sum reads.
// CHECK-LABEL: func @train_step
// CHECK: %[[QKV:.*]] = dlc.reshape %arg0 : (tensor<2x8x192xbf16>) -> tensor<2x8x12x16xbf16>
// CHECK: %[[Y:.*]], %[[L:.*]] = dlc.attention_joint %[[QKV]] {causal, scale = 2.500000e-01 : f64}
// CHECK: %[[D:.*]] = dlc.attention_joint_backward %[[Y]], %[[QKV]], %[[Y]], %[[L]] {causal, scale = 2.500000e-01 : f64}
// CHECK-NEXT: %[[R:.*]] = dlc.reshape %[[D]] : (tensor<2x8x12x16xbf16>) -> tensor<2x8x192xbf16>
// CHECK-NOT: dlc.pad
// CHECK: return %[[R]]
func.func @train_step(%x: tensor<2x8x192xbf16>) -> tensor<2x8x192xbf16> {
  %qs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %q = dlc.reshape %qs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %ks = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 64>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %k = dlc.reshape %ks : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %vs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 128>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %v = dlc.reshape %vs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %y, %l = dlc.attention %q, %k, %v by = library {causal, layout = "bthd", scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>)
  %dq, %dk, %dv = dlc.attention_backward %y, %q, %k, %v, %y, %l by = library {causal, layout = "bthd", scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>)
  %vr = dlc.reshape %dv : (tensor<2x8x4x16xbf16>) -> tensor<2x8x64xbf16>
  %vp = dlc.pad %vr {high = array<i64: 0, 0, 0>, interior = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 128>, value = 0.000000e+00 : f64} : (tensor<2x8x64xbf16>) -> tensor<2x8x192xbf16>
  %kr = dlc.reshape %dk : (tensor<2x8x4x16xbf16>) -> tensor<2x8x64xbf16>
  %kp = dlc.pad %kr {high = array<i64: 0, 0, 64>, interior = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 64>, value = 0.000000e+00 : f64} : (tensor<2x8x64xbf16>) -> tensor<2x8x192xbf16>
  %qr = dlc.reshape %dq : (tensor<2x8x4x16xbf16>) -> tensor<2x8x64xbf16>
  %qp = dlc.pad %qr {high = array<i64: 0, 0, 128>, interior = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 0>, value = 0.000000e+00 : f64} : (tensor<2x8x64xbf16>) -> tensor<2x8x192xbf16>
  %a = dlc.add %vp, %kp : (tensor<2x8x192xbf16>, tensor<2x8x192xbf16>) -> tensor<2x8x192xbf16>
  %s = dlc.add %a, %qp : (tensor<2x8x192xbf16>, tensor<2x8x192xbf16>) -> tensor<2x8x192xbf16>
  return %s : tensor<2x8x192xbf16>
}

// Without a gradient, too.
// CHECK-LABEL: func @predict
// CHECK: dlc.attention_joint
func.func @predict(%x: tensor<2x8x192xbf16>) -> tensor<2x8x4x16xbf16> {
  %qs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %q = dlc.reshape %qs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %ks = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 64>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %k = dlc.reshape %ks : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %vs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 128>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %v = dlc.reshape %vs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %y, %l = dlc.attention %q, %k, %v by = library {causal, layout = "bthd", scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>)
  return %y : tensor<2x8x4x16xbf16>
}

// Not in another order, or where something else is added to a part of the gradient or reads it.
// CHECK-LABEL: func @order
// CHECK-NOT: joint
// CHECK-LABEL: func @read
// CHECK-NOT: joint
// CHECK-LABEL: func @added
// CHECK-NOT: joint
func.func @order(%x: tensor<2x8x192xbf16>) -> tensor<2x8x4x16xbf16> {
  %qs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 64>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %q = dlc.reshape %qs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %ks = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %k = dlc.reshape %ks : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %vs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 128>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %v = dlc.reshape %vs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %y, %l = dlc.attention %q, %k, %v by = library {causal, layout = "bthd", scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>)
  return %y : tensor<2x8x4x16xbf16>
}
func.func @read(%x: tensor<2x8x192xbf16>) -> (tensor<2x8x192xbf16>, tensor<2x8x192xbf16>) {
  %qs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %q = dlc.reshape %qs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %ks = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 64>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %k = dlc.reshape %ks : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %vs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 128>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %v = dlc.reshape %vs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %y, %l = dlc.attention %q, %k, %v by = library {causal, layout = "bthd", scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>)
  %dq, %dk, %dv = dlc.attention_backward %y, %q, %k, %v, %y, %l by = library {causal, layout = "bthd", scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>)
  %vr = dlc.reshape %dv : (tensor<2x8x4x16xbf16>) -> tensor<2x8x64xbf16>
  %vp = dlc.pad %vr {high = array<i64: 0, 0, 0>, interior = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 128>, value = 0.000000e+00 : f64} : (tensor<2x8x64xbf16>) -> tensor<2x8x192xbf16>
  %kr = dlc.reshape %dk : (tensor<2x8x4x16xbf16>) -> tensor<2x8x64xbf16>
  %kp = dlc.pad %kr {high = array<i64: 0, 0, 64>, interior = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 64>, value = 0.000000e+00 : f64} : (tensor<2x8x64xbf16>) -> tensor<2x8x192xbf16>
  %qr = dlc.reshape %dq : (tensor<2x8x4x16xbf16>) -> tensor<2x8x64xbf16>
  %qp = dlc.pad %qr {high = array<i64: 0, 0, 128>, interior = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 0>, value = 0.000000e+00 : f64} : (tensor<2x8x64xbf16>) -> tensor<2x8x192xbf16>
  %a = dlc.add %vp, %kp : (tensor<2x8x192xbf16>, tensor<2x8x192xbf16>) -> tensor<2x8x192xbf16>
  %s = dlc.add %a, %qp : (tensor<2x8x192xbf16>, tensor<2x8x192xbf16>) -> tensor<2x8x192xbf16>
  return %s, %kp : tensor<2x8x192xbf16>, tensor<2x8x192xbf16>
}
func.func @added(%x: tensor<2x8x192xbf16>) -> tensor<2x8x192xbf16> {
  %qs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %q = dlc.reshape %qs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %ks = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 64>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %k = dlc.reshape %ks : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %vs = dlc.slice %x {sizes = array<i64: 2, 8, 64>, starts = array<i64: 0, 0, 128>, steps = array<i64: 1, 1, 1>} : (tensor<2x8x192xbf16>) -> tensor<2x8x64xbf16>
  %v = dlc.reshape %vs : (tensor<2x8x64xbf16>) -> tensor<2x8x4x16xbf16>
  %y, %l = dlc.attention %q, %k, %v by = library {causal, layout = "bthd", scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> (tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>)
  %dq, %dk, %dv = dlc.attention_backward %y, %q, %k, %v, %y, %l by = library {causal, layout = "bthd", scale = 2.500000e-01 : f64} : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x4x8x1xf32>) -> (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>)
  %vr = dlc.reshape %dv : (tensor<2x8x4x16xbf16>) -> tensor<2x8x64xbf16>
  %vp = dlc.pad %vr {high = array<i64: 0, 0, 0>, interior = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 128>, value = 0.000000e+00 : f64} : (tensor<2x8x64xbf16>) -> tensor<2x8x192xbf16>
  %kr = dlc.reshape %dk : (tensor<2x8x4x16xbf16>) -> tensor<2x8x64xbf16>
  %kp = dlc.pad %kr {high = array<i64: 0, 0, 64>, interior = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 64>, value = 0.000000e+00 : f64} : (tensor<2x8x64xbf16>) -> tensor<2x8x192xbf16>
  %qr = dlc.reshape %dq : (tensor<2x8x4x16xbf16>) -> tensor<2x8x64xbf16>
  %qp = dlc.pad %qr {high = array<i64: 0, 0, 128>, interior = array<i64: 0, 0, 0>, low = array<i64: 0, 0, 0>, value = 0.000000e+00 : f64} : (tensor<2x8x64xbf16>) -> tensor<2x8x192xbf16>
  %a = dlc.add %vp, %kp : (tensor<2x8x192xbf16>, tensor<2x8x192xbf16>) -> tensor<2x8x192xbf16>
  %b = dlc.add %a, %x : (tensor<2x8x192xbf16>, tensor<2x8x192xbf16>) -> tensor<2x8x192xbf16>
  %s = dlc.add %b, %qp : (tensor<2x8x192xbf16>, tensor<2x8x192xbf16>) -> tensor<2x8x192xbf16>
  return %s : tensor<2x8x192xbf16>
}
