// RUN: %dlc-opt %s --dlc-clip-gradients=clip-grad=2 | FileCheck %s
// RUN: %dlc-opt %s --dlc-clip-gradients | FileCheck %s --check-prefix=OFF
// RUN: %dlc-opt %s --dlc-clip-gradients=clip-value=2 | FileCheck %s --check-prefix=VALUE
// RUN: %dlc-opt %s --dlc-clip-gradients=grad-norm | FileCheck %s --check-prefix=REPORT
// RUN: %dlc-opt %s '--dlc-clip-each-gradient=clip-param-grad=0.5' --dlc-clip-gradients=clip-grad=2 | FileCheck %s --check-prefix=EACH
// RUN: not %dlc-opt %s --dlc-clip-gradients=clip-grad=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// CHECK: @train_step({{.*}}, [[DA:%.*]]: tensor<2xf32>, [[DB:%.*]]: tensor<3xf32>) -> ({{.*}}, tensor<f32> {dlc.name = "grad_norm"})
// CHECK: [[NORM:%.*]] = dlc.global_norm [[DA]], [[DB]]
// CHECK-DAG: [[MAX:%.*]] = dlc.constant dense<2.000000e+00>
// CHECK-DAG: [[EPS:%.*]] = dlc.constant dense<9.99999997E-7>
// CHECK-DAG: [[SUM:%.*]] = dlc.add [[NORM]], [[EPS]]
// CHECK: [[RATIO:%.*]] = dlc.div [[MAX]], [[SUM]]
// CHECK: [[COEF:%.*]] = dlc.min [[RATIO]],
// CHECK: [[GA:%.*]] = dlc.mul [[DA]], [[COEF]]
// CHECK: dlc.gradient @a, [[GA]]
// CHECK: [[GB:%.*]] = dlc.mul [[DB]], [[COEF]]
// CHECK: dlc.gradient @b, [[GB]]
// CHECK: return {{.*}}, [[NORM]]

// OFF-NOT: dlc.global_norm
// VALUE-NOT: dlc.global_norm
// VALUE: @train_step({{.*}}, [[DA:%.*]]: tensor<2xf32>, [[DB:%.*]]: tensor<3xf32>)
// VALUE-DAG: [[HIGH:%.*]] = dlc.constant dense<2.000000e+00>
// VALUE-DAG: [[LOW:%.*]] = dlc.constant dense<-2.000000e+00>
// VALUE: [[BELOW:%.*]] = dlc.min [[DA]], [[HIGH]]
// VALUE: [[CLAMPED:%.*]] = dlc.max [[BELOW]], [[LOW]]
// VALUE: dlc.gradient @a, [[CLAMPED]]
// REPORT: @train_step({{.*}}, [[DA:%.*]]: tensor<2xf32>, [[DB:%.*]]: tensor<3xf32>) -> ({{.*}}, tensor<f32> {dlc.name = "grad_norm"})
// REPORT: dlc.gradient @a, [[DA]]
// REPORT: [[NORM:%.*]] = dlc.global_norm [[DA]], [[DB]]
// REPORT-NOT: dlc.div
// REPORT: return {{.*}}, [[NORM]]
// Of gradients with bounded norms the common one is that of these: none is read again.
// EACH: @train_step({{.*}}, [[DA:%.*]]: tensor<2xf32>, [[DB:%.*]]: tensor<3xf32>)
// EACH: [[NA:%.*]] = dlc.global_norm [[DA]] :
// EACH: [[FA:%.*]] = dlc.min
// EACH: [[GA:%.*]] = dlc.mul [[DA]], [[FA]]
// EACH: [[NB:%.*]] = dlc.global_norm [[DB]] :
// EACH: [[FB:%.*]] = dlc.min
// EACH: [[GB:%.*]] = dlc.mul [[DB]], [[FB]]
// EACH: [[PA:%.*]] = dlc.mul [[NA]], [[FA]]
// EACH: [[BA:%.*]] = dlc.select %{{.*}}, %{{.*}}, [[PA]]
// EACH: [[PB:%.*]] = dlc.mul [[NB]], [[FB]]
// EACH: [[BB:%.*]] = dlc.select %{{.*}}, %{{.*}}, [[PB]]
// EACH: [[NORM:%.*]] = dlc.global_norm [[BA]], [[BB]] : (tensor<f32>, tensor<f32>) -> tensor<f32>
// EACH: return {{.*}}, [[NORM]]
// NEGATIVE: clip-grad: expected a number of at least 0, found '-1'
dlc.state @a : tensor<2xf32> param init = "a" trainable
dlc.state @b : tensor<3xf32> param init = "b" trainable
func.func @train_step(%loss: tensor<f32>, %da: tensor<2xf32>, %db: tensor<3xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @a, %da : tensor<2xf32>
  dlc.gradient @b, %db : tensor<3xf32>
  return %loss : tensor<f32>
}
