// RUN: %dlc-opt %s --dlc-append-loss=loss=kind:cross_entropy,size:mse:0.25 | FileCheck %s
// RUN: %dlc-opt %s --dlc-append-loss=loss=size:bce:label=1,size:bce:2:label=0:as=other | FileCheck %s --check-prefix=LABEL
// RUN: not %dlc-opt %s --dlc-append-loss=loss=kind:cross_entropy:label=1 2>&1 | FileCheck %s --check-prefix=NOLABEL
// RUN: not %dlc-opt %s --dlc-append-loss=loss=kind:cross_entropy,kind:mse 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not %dlc-opt %s --dlc-append-loss=loss=kinds:mse 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %dlc-opt %s --dlc-append-loss=loss=kind:msee 2>&1 | FileCheck %s --check-prefix=NOKIND

// The total is the first result; each loss is one, too.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: tensor<4xi64> {dlc.name = "y.kind"}, {{%.*}}: tensor<4x3xf32> {dlc.name = "y.size"}
// CHECK-SAME: (tensor<f32> {dlc.name = "loss"}, tensor<f32> {dlc.name = "loss.kind"}, tensor<f32> {dlc.name = "loss.size", dlc.weight = 2.500000e-01 : f64})
// CHECK: [[ROWS:%.*]], {{%.*}} = dlc.softmax_cross_entropy
// CHECK: [[FIRST:%.*]] = dlc.reduce_mean [[ROWS]]
// CHECK: [[SECOND:%.*]] = dlc.reduce_mean {{.*}} -> tensor<f32>
// CHECK: [[C:%.*]] = dlc.constant dense<2.500000e-01>
// CHECK: [[PART:%.*]] = dlc.mul [[SECOND]], [[C]]
// CHECK: [[TOTAL:%.*]] = dlc.add [[FIRST]], [[PART]]
// CHECK: return [[TOTAL]], [[FIRST]], [[SECOND]]

// The rows of each, as they count in the total; the hits are those of the classes.
// CHECK-LABEL: func.func @eval_step
// CHECK-SAME: (tensor<4xf32> {dlc.name = "row_loss.kind"}, tensor<4xf32> {dlc.name = "row_loss.size"}, tensor<4xf32> {dlc.name = "row_correct"})
// CHECK: [[C:%.*]] = dlc.constant dense<2.500000e-01>
// CHECK: dlc.mul {{.*}}, [[C]]

// One number for all rows is no argument; two losses of one output have names.
// LABEL-LABEL: func.func @train_step
// LABEL-NOT: dlc.name = "y
// LABEL-SAME: {dlc.name = "loss"}, tensor<f32> {dlc.name = "loss.size"}, tensor<f32> {dlc.name = "loss.other", dlc.weight = 2.000000e+00 : f64})
// LABEL-DAG: dlc.constant dense<1.000000e+00> : tensor<4x3xf32>
// LABEL-DAG: dlc.constant dense<0.000000e+00> : tensor<4x3xf32>
// NOLABEL: label=NUMBER needs a loss whose labels are numbers; those of cross_entropy are the data's

// TWICE: loss: two losses are called 'kind'; give one another name, as in 'kind:mse:as=NAME'
// UNKNOWN: there is no output 'kinds' to compute a loss of, there are kind, size
// NOKIND: loss: 'msee' for output 'kind' is not one of cross_entropy, nll, mse, l1, smooth_l1, huber, kl, bce, dice, focal, binary_focal, cosine_embedding, triplet_margin, ctc, graph
func.func @predict(%x: tensor<4x5xf32> {dlc.name = "x"}, %y: tensor<4x3xf32> {dlc.name = "z"})
    -> (tensor<4x5xf32> {dlc.name = "kind"}, tensor<4x3xf32> {dlc.name = "size"}) {
  return %x, %y : tensor<4x5xf32>, tensor<4x3xf32>
}
