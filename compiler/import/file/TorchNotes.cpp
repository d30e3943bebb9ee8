// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/TorchNotes.h"
#include "compiler/import/file/GraphCheck.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <cstdlib>
#include <re2/re2.h>
#include <string_view>

namespace dlc::import {
namespace {

using Text = std::string_view;

/// Notes longer than this are not torch's.
constexpr size_t kLongestNote = size_t(1) << 20;

bool isWord(unsigned char c) { return std::isalnum(c) || c == '_'; }

bool mayName(Text name) {
  return !name.empty() && name.size() <= kMaxName &&
         name.find('\0') == Text::npos && isUtf8(std::string(name));
}

/// The text between `open` and `close`; nullopt if one is missing.
std::optional<Text> between(Text text, Text open, Text close) {
  size_t begin = text.find(open);
  if (begin == Text::npos)
    return std::nullopt;
  begin += open.size();
  size_t end = text.find(close, begin);
  if (end == Text::npos)
    return std::nullopt;
  return text.substr(begin, end - begin);
}

/// Splits at commas outside of brackets, up to the closing bracket of the list.
std::vector<std::string> splitArguments(Text text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (depth < 0)
      break;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else if (c != ' ' || !parts.back().empty())
      parts.back() += c;
  }
  if (parts.back().empty())
    parts.pop_back();
  return parts;
}

/// "torch.ops.aten.add.Tensor" -> "add"
std::string shortTarget(Text target) {
  const Text ops = "torch.ops.";
  if (target.starts_with(ops)) {
    target.remove_prefix(ops.size());
    target.remove_prefix(std::min(target.find('.') + 1, target.size()));
    target = target.substr(0, target.find('.'));
  }
  return std::string(target);
}

void readCall(Text note, TorchCall &call) {
  auto target = between(note, "[target=", "]");
  size_t args = note.find("](args = (");
  if (!target || args == Text::npos || !mayName(*target))
    return;
  if (auto value = between(note, "%", " ");
      value && note.starts_with('%') && mayName(*value))
    call.value = *value;
  call.target = shortTarget(*target);
  call.args = splitArguments(note.substr(args + 10));
  for (const std::string &arg : call.args)
    std::ranges::copy(tensorsIn(arg), std::back_inserter(call.tensors));
  call.known = true;
}

/// "['', 'b.0', 'b.0.fc', 'linear']" -> "b.0.fc"
std::string innermost(Text scopes) {
  const auto names = quotedStrings(scopes);
  return names.size() > 1 && mayName(names.end()[-2]) ? names.end()[-2] : "";
}

/// Source line of the innermost frame of a stack trace.
std::string innermostLine(Text trace) {
  size_t file = trace.rfind("File \"");
  size_t end = file == Text::npos ? file : trace.find('\n', file);
  Text line = end == Text::npos ? "" : trace.substr(end + 1);
  return mayName(line) ? std::string(line) : "";
}

/// The call argument that a node of its lowering reads.
struct Position {
  const char *call, *op;
  int slot; // of the node; -1: any
  size_t argument;
};

constexpr Position kPositions[] = {
    {"linear", "MatMul", 1, 1},
    {"linear", "Gemm", 1, 1},
    {"linear", "Gemm", 2, 2},
    {"linear", "Add", -1, 2},
    {"addmm", "Gemm", 1, 2},
    {"addmm", "Gemm", 2, 0},
    {"addmm", "MatMul", 1, 2},
    {"addmm", "Add", -1, 0},
    {"baddbmm", "MatMul", 0, 1},
    {"baddbmm", "MatMul", 1, 2},
    {"baddbmm", "Add", -1, 0},
    {"layer_norm", "LayerNormalization", 1, 2},
    {"layer_norm", "LayerNormalization", 2, 3},
    {"layer_norm", "Mul", -1, 2},
    {"layer_norm", "Add", -1, 3},
    {"native_layer_norm", "LayerNormalization", 1, 2},
    {"native_layer_norm", "LayerNormalization", 2, 3},
    {"group_norm", "GroupNormalization", 1, 2},
    {"group_norm", "GroupNormalization", 2, 3},
    {"group_norm", "Mul", -1, 2},
    {"group_norm", "Add", -1, 3},
    {"rms_norm", "RMSNormalization", 1, 2},
    {"rms_norm", "Mul", -1, 2},
    {"instance_norm", "InstanceNormalization", 1, 1},
    {"instance_norm", "InstanceNormalization", 2, 2},
    {"embedding", "Gather", 0, 0},
    {"prelu", "PRelu", 1, 1},
    {"scaled_dot_product_attention", "Add", -1, 3},
    {"addcmul", "Add", 0, 0},
    {"addcmul", "Mul", 0, 1},
    {"addcmul", "Mul", 1, 2},
};

/// Ops whose inputs are the call's tensors in the same order.
bool keepsOrder(const std::string &op) {
  static const std::set<std::string> ops = {"Add", "Sub",    "Mul",    "Div",
                                            "Pow", "MatMul", "Concat", "Where",
                                            "Max", "Min"};
  return ops.count(op);
}

std::optional<size_t> argumentOf(const TorchCall &call,
                                 const onnx::NodeProto &node, int slot) {
  const std::string &op = node.op_type();
  bool convolution = call.target.starts_with("conv");
  if (convolution && (op == "Conv" || op == "ConvTranspose"))
    return size_t(slot);
  // For _native_batch_norm_legit_no_training etc. all tensors have the node's
  // order.
  if (op == "BatchNormalization" &&
      call.target.find("batch_norm") != std::string::npos)
    return size_t(slot);
  for (const Position &p : kPositions)
    if (call.target == p.call && op == p.op && (p.slot < 0 || p.slot == slot))
      return p.argument;
  return std::nullopt;
}

std::string leafOf(const std::string &name) {
  return name.substr(name.rfind('.') + 1);
}

} // namespace

std::vector<std::string> quotedStrings(Text text) {
  std::vector<std::string> found;
  for (size_t at = 0, end; (at = text.find('\'', at)) != Text::npos &&
                           (end = text.find('\'', at + 1)) != Text::npos;
       at = end + 1)
    found.emplace_back(text.substr(at + 1, end - at - 1));
  return found;
}

std::vector<std::string> tensorsIn(Text text) {
  std::vector<std::string> names;
  for (size_t at = 0, end; (at = text.find('%', at)) != Text::npos; at = end) {
    end = ++at;
    while (end < text.size() && isWord(text[end]))
      ++end;
    if (mayName(text.substr(at, end - at)))
      names.emplace_back(text.substr(at, end - at));
  }
  return names;
}

const TorchCall TorchNotes::none;

TorchNotes::TorchNotes(const onnx::GraphProto &graph) {
  for (const auto &note : graph.metadata_props())
    if (note.key() == "pkg.torch.export.ExportedProgram.graph_signature")
      readSignature(note.value());
  readCalls(graph);
}

/// Lines "p_fc_weight: PARAMETER target='fc.weight'".
void TorchNotes::readSignature(const std::string &text) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    Text line(text.data() + begin, end - begin);
    begin = end + 1;
    size_t colon = line.find(": ");
    auto target = between(line, " target='", "'");
    if (colon == Text::npos || !target || !mayName(*target) ||
        !mayName(line.substr(0, colon)))
      continue;
    Text kind = line.substr(colon + 2);
    std::string value(line.substr(0, colon));
    if (kind.starts_with("PARAMETER ")) {
      parameters[value] = *target;
      targets.emplace(*target);
    } else if (kind.starts_with("BUFFER ") ||
               kind.starts_with("CONSTANT_TENSOR ")) {
      buffers[value] = *target;
      bufferNames.emplace(*target);
    } else if (kind.starts_with("BUFFER_MUTATION ")) {
      updated.emplace(*target);
    }
  }
}

void TorchNotes::readCalls(const onnx::GraphProto &graph) {
  for (const auto &node : graph.node()) {
    if (!node.metadata_props_size())
      continue;
    TorchCall call;
    for (const auto &note : node.metadata_props()) {
      if (note.value().size() > kLongestNote)
        continue;
      if (note.key() == "pkg.torch.onnx.fx_node")
        readCall(note.value(), call);
      else if (note.key() == "pkg.torch.onnx.name_scopes")
        call.scope = innermost(note.value());
      else if (note.key() == "pkg.torch.onnx.stack_trace")
        call.line = innermostLine(note.value());
    }
    if (!call.known)
      continue;
    indexTensors(call);
    std::set<std::string> read;
    for (const std::string &input : node.input())
      if (!read.insert(input).second)
        call.repeated.insert(input);
    calls[&node] = std::move(call);
  }
  isNewer = !calls.empty() ||
            std::ranges::none_of(graph.node(), [](const auto &node) {
              return node.name().starts_with('/');
            });
}

void TorchNotes::indexTensors(TorchCall &call) const {
  bool several = false;
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const std::string &tensor = call.tensors[i];
    call.places.emplace(tensor, i);
    auto target = parameter(tensor);
    if (!target)
      continue;
    call.places.emplace(*target, i);
    several |= call.only && *call.only != tensor;
    call.only = tensor;
  }
  if (several)
    call.only.reset();
}

const TorchCall &TorchNotes::call(const onnx::NodeProto &node) const {
  auto it = calls.find(&node);
  return it == calls.end() ? none : it->second;
}

std::optional<std::string> TorchNotes::source(const onnx::NodeProto &node,
                                              int slot,
                                              const std::string &own) const {
  const TorchCall &call = this->call(node);
  if (!call.known || isFilledIn(node, slot))
    return std::nullopt;
  if (auto argument = argumentOf(call, node, slot)) {
    const bool isTensor =
        *argument < call.args.size() && call.args[*argument].starts_with('%');
    const auto names = tensorsIn(isTensor ? call.args[*argument] : "");
    return names.size() == 1 ? std::optional(names[0]) : std::nullopt;
  }
  const bool inOrder = keepsOrder(node.op_type()) &&
                       node.input_size() == int(call.tensors.size());
  // A tensor that the node reads twice may stand for several equal tensors.
  if (inOrder && call.repeated.count(own))
    return call.tensors[size_t(slot)];
  if (auto place = call.places.find(own); place != call.places.end())
    return call.tensors[place->second];
  if (inOrder)
    return call.tensors[size_t(slot)];
  return call.only;
}

bool TorchNotes::isFilledIn(const onnx::NodeProto &node, int slot) const {
  const TorchCall &call = this->call(node);
  if (!call.known || call.target.find("norm") == std::string::npos)
    return false;
  // Group norms first normalise groups, then scale channels.
  if (node.op_type() == "InstanceNormalization" &&
      call.target.ends_with("group_norm"))
    return slot >= 1;
  const auto argument = argumentOf(call, node, slot);
  if (!argument)
    return false;
  if (*argument < call.args.size())
    return call.args[*argument] == "None";
  const auto given = std::ranges::count_if(
      call.args, [](const auto &arg) { return arg.starts_with('%'); });
  return size_t(given) == call.tensors.size(); // nor as a keyword
}

std::optional<double> TorchNotes::addend(const onnx::NodeProto &node,
                                         const std::string &leaf) const {
  const std::string &line = call(node).line;
  if (std::count(line.begin(), line.end(), '+') != 1)
    return std::nullopt;
  const std::string number = R"(([0-9]+(?:\.[0-9]*)?))";
  const std::string cast = R"((?:\.(?:float|to|type_as)\([^()]*\))?)";
  const std::string name =
      R"((?:[A-Za-z_]\w*\.)*)" + RE2::QuoteMeta(leaf) + cast;
  std::string found;
  if (!RE2::PartialMatch(
          line, R"(\(\s*)" + number + R"(\s*\+\s*)" + name + R"(\s*\))",
          &found) &&
      !RE2::PartialMatch(
          line, R"(\(\s*)" + name + R"(\s*\+\s*)" + number + R"(\s*\))",
          &found))
    return std::nullopt;
  return std::strtod(found.c_str(), nullptr);
}

std::optional<std::string>
TorchNotes::parameter(const std::string &value) const {
  for (const auto *map : {&parameters, &buffers})
    if (auto it = map->find(value); it != map->end())
      return it->second;
  return std::nullopt;
}

template <class Visit> void TorchNotes::eachRead(Visit visit) const {
  for (const auto &[node, call] : calls)
    for (const std::string &tensor : call.tensors)
      if (auto it = parameters.find(tensor); it != parameters.end())
        visit(call, it->second);
}

std::map<std::string, std::string> TorchNotes::secondNames() const {
  std::set<std::string> left = targets;
  eachRead([&](auto &, auto &name) { left.erase(name); });
  std::map<std::string, std::string> seconds;
  eachRead([&](const TorchCall &call, const std::string &name) {
    const std::string own = call.scope + "." + leafOf(name);
    if (left.count(own))
      seconds[own] = name;
  });
  return seconds;
}

std::set<std::string> TorchNotes::unnamed() const {
  std::set<std::string> left = targets;
  eachRead([&](auto &, auto &name) { left.erase(name); });
  for (const auto &[second, name] : secondNames())
    left.erase(second);
  return left;
}

} // namespace dlc::import
