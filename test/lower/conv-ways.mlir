// Who computes ResNet-8's convolutions on a CPU: by predicted times, by what rounds little, or why not otherwise.
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse --explain-placement | FileCheck %s
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse --explain-placement --conv-error=direct | FileCheck %s --check-prefix=DIRECT
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse --explain-placement --place=l.2/conv2:conv=winograd2,l.0/conv1:conv=winograd4 | FileCheck %s --check-prefix=PLACE
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse | FileCheck %s --check-prefix=OPS
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=launches | FileCheck %s --check-prefix=CALLS
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse --explain-placement --amp --cpu=znver4 | FileCheck %s --check-prefix=BF16
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse --explain-placement --amp --cpu=znver4 --amp-dtype=fp16 | FileCheck %s --check-prefix=WIDENED
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse --explain-placement --amp --cpu=znver3 | FileCheck %s --check-prefix=WIDENED
// RUN: %dlc compile %models/resnet8.onnx --target=cpu --batch=32 --emit=mlir --stop-after=fuse --explain-placement --amp --cpu=sapphirerapids | FileCheck %s --check-prefix=AMX
// RUN: not %dlc compile %models/resnet8.onnx --target=cpu --emit=mlir --place=conv=winograd4 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK: // /conv1/Conv {{.*}} library {{.*}} winograd2: channels are no multiple of 16
// CHECK: // /l/l.0/conv1/Conv {{.*}} library {{.*}}winograd2 {{[0-9.]+}} us, winograd4: it rounds more than twice as much as the direct form)
// CHECK: // /l/l.1/conv1/Conv {{.*}} library {{.*}}winograd4: the window is not 3x3 with stride and dilation 1)
// CHECK: // /l/l.1/conv2/Conv {{.*}} winograd2 predicted to be the fastest (library
// CHECK: // /l/l.2/conv2/Conv {{.*}} winograd4 predicted to be the fastest (library
// CHECK-COUNT-2: // /l/l.2/conv2/Conv (gradient) {{.*}} winograd4 predicted
// CHECK: // /l/l.1/conv2/Conv (gradient) {{.*}} winograd2 predicted
// CHECK: // /l/l.1/conv2/Conv (gradient) {{.*}} winograd4 predicted
// CHECK-COUNT-2: // /l/l.0/conv2/Conv (gradient) {{.*}} library predicted

// DIRECT: // /l/l.1/conv2/Conv {{.*}} winograd2 predicted {{.*}} winograd4: not with --conv-error=direct)
// DIRECT: // /l/l.2/conv2/Conv {{.*}} winograd2 predicted
// DIRECT-NOT: {{ conv  *winograd4 }}

// PLACE: // /l/l.0/conv1/Conv {{.*}} winograd4 --place=l.0/conv1:conv=winograd4
// PLACE: // /l/l.2/conv2/Conv {{.*}} winograd2 --place=l.2/conv2:conv=winograd2

// OPS: dlc.conv %{{.*}} by = winograd2 {
// OPS: dlc.conv %{{.*}} by = winograd4 {
// OPS: dlc.conv_backward_data %{{.*}} by = winograd4 {
// OPS: dlc.conv_backward_filter %{{.*}} by = winograd4 {

// CALLS-DAG: exec.call "conv" {{.*}} winograd = 2 : i64}
// CALLS-DAG: exec.call "conv_backward_data" {{.*}} winograd = 4 : i64}
// CALLS-DAG: exec.call "conv_backward_filter" {{.*}} winograd = 4 : i64}

// Halves: against the library's instructions for bf16, against its f32 between two casts, and against AMX.
// BF16: // /l/l.1/conv2/Conv {{.*}} library predicted
// BF16: // /l/l.2/conv2/Conv {{.*}} winograd4 predicted
// BF16: // /l/l.2/conv2/Conv (gradient) {{.*}} winograd4 predicted
// BF16: // /l/l.1/conv2/Conv (gradient) {{.*}} library predicted
// WIDENED: // /l/l.1/conv2/Conv {{.*}} winograd4 predicted
// WIDENED: // /l/l.2/conv2/Conv {{.*}} winograd4 predicted
// AMX: // /l/l.2/conv2/Conv {{.*}} library predicted

// REFUSED: --place=conv=winograd4 cannot be: channels are no multiple of 16
