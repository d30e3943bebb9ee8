// RUN: %dlc-opt %s --dlc-clip-each-gradient=clip-param-grad=2 | FileCheck %s
// RUN: %dlc-opt %s --dlc-clip-each-gradient | FileCheck %s --check-prefix=OFF
// RUN: not %dlc-opt %s --dlc-clip-each-gradient=clip-param-grad=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// CHECK: @train_step({{.*}}, [[DA:%.*]]: tensor<2xf32>, [[DB:%.*]]: tensor<3xf32>)
// CHECK: [[NORM_A:%.*]] = dlc.global_norm [[DA]]
// CHECK-DAG: [[MAX:%.*]] = dlc.constant dense<2.000000e+00>
// CHECK-DAG: [[EPS:%.*]] = dlc.constant dense<9.99999997E-7>
// CHECK-DAG: [[SUM:%.*]] = dlc.add [[NORM_A]], [[EPS]]
// CHECK: [[RATIO:%.*]] = dlc.div [[MAX]], [[SUM]]
// CHECK: [[COEF:%.*]] = dlc.min [[RATIO]],
// CHECK: [[GA:%.*]] = dlc.mul [[DA]], [[COEF]]
// CHECK: dlc.gradient @a, [[GA]]
// CHECK: [[NORM_B:%.*]] = dlc.global_norm [[DB]]
// CHECK: [[GB:%.*]] = dlc.mul [[DB]],
// CHECK: dlc.gradient @b, [[GB]]

// OFF-NOT: dlc.global_norm
// NEGATIVE: clip-param-grad: expected a number of at least 0, found '-1'
dlc.state @a : tensor<2xf32> param init = "a" trainable
dlc.state @b : tensor<3xf32> param init = "b" trainable
func.func @train_step(%loss: tensor<f32>, %da: tensor<2xf32>, %db: tensor<3xf32>) -> (tensor<f32> {dlc.name = "loss"}) {
  dlc.gradient @a, %da : tensor<2xf32>
  dlc.gradient @b, %db : tensor<3xf32>
  return %loss : tensor<f32>
}
