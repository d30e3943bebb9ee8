// SPDX-License-Identifier: Apache-2.0
// Forward declarations of ONNX's messages (onnx-ml.pb.h).
#pragma once

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
class ValueInfoProto;
} // namespace onnx
