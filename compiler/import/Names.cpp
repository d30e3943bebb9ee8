#include "compiler/import/Names.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"

namespace dlc::import {
namespace {

Status check(const std::string &name, const char *what) {
  if (isUtf8(name))
    return {};
  return badModel("the name of {}, '{}', is not UTF-8", what, printable(name));
}

/// As keys of an .npz file, whose members have at most 65535 bytes.
constexpr size_t kLongestKey = 32768;

Status
checkKeys(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> &infos,
          const char *what) {
  for (const auto &info : infos)
    if (info.name().size() > kLongestKey)
      return badModel("the name of {}, '{}', has {} bytes, expected at most {}",
                      what, printable(info.name()), info.name().size(),
                      kLongestKey);
  return {};
}

template <typename Names>
Status checkAll(const Names &names, const char *what) {
  for (const std::string &name : names)
    DLC_TRY(check(name, what));
  return {};
}

template <typename Named>
Status checkNamed(const Named &named, const char *what) {
  for (const auto &item : named)
    DLC_TRY(check(item.name(), what));
  return {};
}

using Infos = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

Status checkInfos(const Infos &infos, const char *what) {
  DLC_TRY(checkNamed(infos, what));
  for (const auto &info : infos)
    for (const auto &dim : info.type().tensor_type().shape().dim())
      DLC_TRY(check(dim.dim_param(), "a dimension"));
  return {};
}

Status checkNodes(const Nodes &nodes) {
  for (const auto &node : nodes) {
    DLC_TRY(check(node.name(), "a node"));
    DLC_TRY(check(node.op_type(), "an operator"));
    DLC_TRY(check(node.domain(), "a domain"));
    DLC_TRY(check(node.overload(), "an overload"));
    DLC_TRY(checkAll(node.input(), "a value"));
    DLC_TRY(checkAll(node.output(), "a value"));
    for (const auto &attribute : node.attribute()) {
      DLC_TRY(check(attribute.name(), "an attribute"));
      DLC_TRY(check(attribute.ref_attr_name(), "an attribute"));
    }
  }
  return {};
}

} // namespace

Status checkNames(const onnx::ModelProto &model) {
  const onnx::GraphProto &graph = model.graph();
  for (const auto &opset : model.opset_import())
    DLC_TRY(check(opset.domain(), "a domain"));
  DLC_TRY(checkInfos(graph.input(), "a graph input"));
  DLC_TRY(checkInfos(graph.output(), "a graph output"));
  DLC_TRY(checkKeys(graph.input(), "a graph input"));
  DLC_TRY(checkKeys(graph.output(), "a graph output"));
  DLC_TRY(checkNamed(graph.initializer(), "an initializer"));
  DLC_TRY(checkNodes(graph.node()));
  for (const auto &function : model.functions()) {
    DLC_TRY(check(function.name(), "a function"));
    DLC_TRY(check(function.domain(), "a domain"));
    DLC_TRY(checkAll(function.input(), "a value"));
    DLC_TRY(checkAll(function.output(), "a value"));
    DLC_TRY(checkAll(function.attribute(), "an attribute"));
    DLC_TRY(checkNodes(function.node()));
  }
  return {};
}

} // namespace dlc::import
