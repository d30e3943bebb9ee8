// Undoes an exporter's merging of equal initializers.
#pragma once

namespace onnx {
class ModelProto;
}

namespace dlc::import {

/// Exporters store tensors with equal values once: fresh norm scales (all ones)
/// and biases (all zeros) of different layers become one initializer, reached
/// through Identity nodes or used by several nodes. They must not be trained as
/// one. Each Identity of an initializer with equal elements becomes an
/// initializer of the Identity's output name; each further use of one as a
/// norm's scale, bias or statistics or as a Conv's or Gemm's bias gets a copy
/// named after the node. Initializers with differing elements stay shared: they
/// were one tensor in the source. Returns the number of copies made.
int untieInitializers(onnx::ModelProto &model);

} // namespace dlc::import
