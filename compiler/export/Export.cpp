// SPDX-License-Identifier: Apache-2.0
#include "compiler/export/Export.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/numbers/FloatCast.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/numbers/Packed.h"
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>
#include <unistd.h>

namespace dlc::exporter {
namespace {

constexpr size_t kAlignment = 4096;

/// From F32 or I32.
std::string repacked(const Packed &type, const TensorView &held) {
  std::vector<float> values(held.bytes / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    const char *at = static_cast<const char *>(held.data) + i * sizeof(float);
    if (int32_t whole = 0; type.isFloat) {
      std::memcpy(&values[i], at, sizeof(float));
    } else {
      std::memcpy(&whole, at, sizeof whole);
      values[i] = float(whole);
    }
  }
  return pack(type, values);
}

/// A tensor whose values the program stores in a wider type, in its own: the
/// low bytes of each integer.
std::string narrowed(const onnx::TensorProto &tensor, const TensorView &held) {
  const int own = tensor.data_type();
  if (const Packed *type = findPacked(import::onnxTypeName(own)))
    return repacked(*type, held);
  const auto *integer = import::smallInteger(own);
  const size_t wide = sizeOf(held.dtype),
               size = integer ? size_t(integer->bits / 8) : wide;
  std::string bytes;
  for (size_t at = 0; at < held.bytes; at += wide)
    bytes.append(static_cast<const char *>(held.data) + at, size);
  return bytes;
}

void clearData(onnx::TensorProto &tensor) {
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
}

bool hasData(const onnx::TensorProto &tensor) {
  bool empty = false;
  for (int64_t dim : tensor.dims())
    empty |= dim == 0;
  return empty || !tensor.raw_data().empty() || tensor.float_data_size() ||
         tensor.int32_data_size() || tensor.int64_data_size() ||
         tensor.double_data_size();
}

/// Running statistics are states: removes the training form's outputs and flag.
void makeInference(onnx::NodeProto &node) {
  auto &attributes = *node.mutable_attribute();
  if (node.op_type() == "BatchNormalization") {
    for (int i = attributes.size(); i-- > 0;)
      if (attributes[i].name() == "training_mode")
        attributes.DeleteSubrange(i, 1);
    if (node.output_size() > 1)
      node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
  } else if (node.op_type() == "Dropout" && node.input_size() > 2) {
    node.mutable_input()->DeleteSubrange(2, node.input_size() - 2);
  }
}

/// Removes type information of values that no longer exist.
void dropStaleValueInfo(onnx::GraphProto &graph) {
  std::set<std::string> defined;
  for (const auto &node : graph.node())
    defined.insert(node.output().begin(), node.output().end());
  for (const auto &tensor : graph.initializer())
    defined.insert(tensor.name());
  for (const auto &input : graph.input())
    defined.insert(input.name());
  auto &infos = *graph.mutable_value_info();
  for (int i = infos.size(); i-- > 0;)
    if (!defined.count(infos[i].name()))
      infos.DeleteSubrange(i, 1);
}

Status checkState(const onnx::TensorProto &tensor, const TensorView &state) {
  std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  if (import::toDType(tensor.data_type()) == state.dtype && dims == state.shape)
    return Status();
  return corrupt(
      "tensor '{}': found {} [{}], expected type {} and shape [{}] "
      "as in the source model",
      tensor.name(), nameOf(state.dtype), fmt::join(state.shape, ", "),
      import::onnxTypeName(tensor.data_type()), fmt::join(dims, ", "));
}

/// Converts floats back to the model's type.
TensorView inOwnType(const onnx::TensorProto &tensor, TensorView state,
                     std::vector<std::byte> &converted) {
  const auto own = import::toDType(tensor.data_type());
  if (!own || *own == state.dtype || !isFloat(*own) || !isFloat(state.dtype))
    return state;
  converted = castFloats(state.data, state.bytes / sizeOf(state.dtype),
                         state.dtype, *own);
  return {*own, state.shape, converted.data(), converted.size()};
}

void addExternal(onnx::TensorProto &tensor, const std::string &key,
                 const std::string &value) {
  auto *entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

/// The data file of "net.onnx" is "net.onnx.<16 digits of its hash>.data".
std::string dataName(const std::string &model, const std::string &hash) {
  return fmt::format("{}.{}.data", model, hash);
}
constexpr size_t kHashDigits = 16;

bool isDataName(const std::string &name, const std::string &model) {
  const size_t digits = model.size() + 1;
  return name.size() == dataName(model, "").size() + kHashDigits &&
         name == dataName(model, name.substr(digits, kHashDigits)) &&
         name.substr(digits, kHashDigits)
                 .find_first_not_of("0123456789abcdef") == name.npos;
}

/// Weights too large for the model's own file. The name contains their hash, so
/// a model never refers to the file of another export.
class DataFile {
public:
  explicit DataFile(const std::string &model) : model(model) {}

  /// Appends `state` at an aligned offset and makes `tensor` refer to it.
  Status add(onnx::TensorProto &tensor, const TensorView &state) {
    if (!file) {
      DLC_ASSIGN(auto created, AtomicFile::create(dataName(model, "new")));
      file.emplace(std::move(created));
    }
    static const char zeros[kAlignment] = {};
    DLC_TRY(append(zeros, -file->writer().written() % kAlignment));
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    addExternal(tensor, "offset", std::to_string(file->writer().written()));
    addExternal(tensor, "length", std::to_string(state.bytes));
    return append(state.data, state.bytes);
  }

  /// Creates the file, if it has data, and sets its name in the tensors.
  Status commit(onnx::GraphProto &graph) {
    if (!file)
      return Status();
    std::string path = dataName(model, hash.digest().substr(0, kHashDigits));
    name = std::filesystem::path(path).filename();
    for (auto &tensor : *graph.mutable_initializer())
      if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
        addExternal(tensor, "location", name);
    return file->commitAs(path);
  }

  /// Called once the model exists: removes data of its earlier exports.
  Status removeOthers() const {
    const std::string folder = parentOf(model);
    const std::string own = std::filesystem::path(model).filename();
    std::error_code error;
    std::filesystem::directory_iterator it(folder, error), end;
    for (; !error && it != end; it.increment(error)) {
      const std::string other = it->path().filename();
      if (other != name && isDataName(other, own) &&
          kindOfFile(it->path()) == "a file" && unlink(it->path().c_str()) != 0)
        return systemError("remove", it->path().string());
    }
    return Status();
  }

private:
  Status append(const void *data, size_t size) {
    hash.add(data, size);
    return file->writer().write(data, size);
  }

  std::string model, name;
  std::optional<AtomicFile> file;
  Sha256 hash;
};

/// Writes the value of each tensor without data to the model, or to `data`.
Status fill(onnx::GraphProto &graph, const Tensors &states, DataFile *data) {
  for (auto &tensor : *graph.mutable_initializer()) {
    auto it = states.find(tensor.name());
    if (it == states.end()) {
      if (!hasData(tensor))
        return corrupt("no value for tensor '{}' of the source model",
                       tensor.name());
      continue;
    }
    if (import::isNarrow(tensor.data_type())) {
      clearData(tensor);
      tensor.set_raw_data(narrowed(tensor, it->second));
      continue;
    }
    std::vector<std::byte> converted;
    TensorView state = inOwnType(tensor, it->second, converted);
    DLC_TRY(checkState(tensor, state));
    clearData(tensor);
    if (data)
      DLC_TRY(data->add(tensor, state));
    else
      tensor.set_raw_data(state.data, state.bytes);
  }
  return Status();
}

} // namespace

Result<std::string> makeSkeleton(const onnx::ModelProto &source,
                                 const std::set<std::string> &states,
                                 const Tensors &weights) {
  // Field by field: copying the whole would copy the weights.
  onnx::ModelProto model;
  model.set_ir_version(source.ir_version());
  *model.mutable_opset_import() = source.opset_import();
  model.set_producer_name(source.producer_name());
  model.set_producer_version(source.producer_version());
  model.set_domain(source.domain());
  model.set_model_version(source.model_version());
  model.set_doc_string(source.doc_string());
  *model.mutable_metadata_props() = source.metadata_props();
  const onnx::GraphProto &from = source.graph();
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name(from.name());
  graph.set_doc_string(from.doc_string());
  *graph.mutable_node() = from.node();
  *graph.mutable_input() = from.input();
  *graph.mutable_output() = from.output();
  *graph.mutable_value_info() = from.value_info();
  *graph.mutable_metadata_props() = from.metadata_props();
  for (const auto &tensor : from.initializer()) {
    auto &copy = *graph.add_initializer();
    copy.set_name(tensor.name());
    copy.set_doc_string(tensor.doc_string());
    copy.set_data_type(tensor.data_type());
    *copy.mutable_dims() = tensor.dims();
    if (states.count(tensor.name()))
      continue;
    auto it = weights.find(tensor.name());
    if (it == weights.end())
      return failed("no data for initializer '{}'", tensor.name());
    if (import::isNarrow(tensor.data_type()))
      copy.set_raw_data(narrowed(tensor, it->second));
    else
      copy.set_raw_data(it->second.data, it->second.bytes);
  }
  std::string bytes;
  if (model.ByteSizeLong() > std::numeric_limits<int32_t>::max() ||
      !model.SerializeToString(&bytes))
    return limitExceeded("the model without its weights is larger than "
                         "protobuf's limit of 2 GiB");
  return bytes;
}

Status exportOnnx(const std::string &skeleton, const Tensors &states,
                  const std::string &path, const ExportOptions &options) {
  onnx::ModelProto model;
  if (!model.ParseFromString(skeleton))
    return corrupt("the source model in the artifact does not parse");
  onnx::GraphProto &graph = *model.mutable_graph();
  for (auto &node : *graph.mutable_node())
    makeInference(node);
  dropStaleValueInfo(graph);

  size_t total = skeleton.size();
  for (const auto &tensor : graph.initializer())
    if (auto it = states.find(tensor.name()); it != states.end())
      total += it->second.bytes;
  DataFile data(path);
  bool external = total > options.inlineLimit;
  DLC_TRY(fill(graph, states, external ? &data : nullptr));
  DLC_TRY(data.commit(graph));
  std::string bytes;
  if (!model.SerializeToString(&bytes))
    return limitExceeded("the model is larger than protobuf's limit of 2 GiB");
  DLC_TRY(writeFileAtomically(path, bytes));
  return data.removeOthers();
}

} // namespace dlc::exporter
