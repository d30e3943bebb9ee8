#include "compiler/import/Roles.h"
#include "compiler/import/DataType.h"
#include "compiler/import/Triangles.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <regex>
#include <set>
#include <unordered_map>

namespace dlc::import {
namespace {

const std::set<std::string> kPassThrough = {
    "Identity",  "Transpose", "Reshape", "Cast",   "CastLike", "Squeeze",
    "Unsqueeze", "Flatten",   "Slice",   "Expand", "Split"};

bool isWeightOperand(const onnx::NodeProto &node, int input) {
  static const std::set<std::string> norms = {
      "BatchNormalization", "LayerNormalization", "InstanceNormalization",
      "GroupNormalization", "RMSNormalization"};
  const std::string &op = node.op_type();
  if (op == "Conv" || op == "ConvTranspose")
    return input >= 1;
  if (norms.count(op))
    return input == 1 || input == 2;
  return op == "Gemm" || op == "MatMul" || (op == "Gather" && input == 0);
}

struct Use {
  const onnx::NodeProto *node;
  int input;
};

class RoleFinder {
public:
  explicit RoleFinder(const OnnxFile &file) : file(file) {
    for (const auto *node : file.nodes) {
      for (int i = 0; i < node->input_size(); ++i)
        uses[node->input(i)].push_back({node, i});
      for (const auto &entry : node->metadata_props())
        if (entry.key() == "pkg.torch.onnx.fx_node")
          readFxNode(entry.value());
    }
  }

  Role find(const std::string &name, const Weight &weight) {
    bool weightOperand = false, statistics = false;
    std::set<std::string> seen;
    visit(name, seen, weightOperand, statistics);
    if (statistics)
      return Role::Buffer;
    if (!isFloat(weight.dtype))
      return Role::Constant;
    if (!weightOperand && triangleOf(weight)) // a mask, whatever its name
      return Role::Constant;
    std::string fxName = name;
    std::replace_if(
        fxName.begin(), fxName.end(),
        [](unsigned char c) { return !std::isalnum(c); }, '_');
    if (fxValues.count("b_" + fxName))
      return Role::Constant;
    if (fxValues.count("p_" + fxName))
      return Role::Param;
    auto endsWith = [&](std::string_view suffix) {
      return name.size() >= suffix.size() &&
             std::string_view(name).substr(name.size() - suffix.size()) ==
                 suffix;
    };
    if (endsWith(".weight") || endsWith(".bias"))
      return Role::Param;
    return weight.elements() > 1 && (weightOperand || isModuleState(name))
               ? Role::Param
               : Role::Constant;
  }

private:
  /// torch exports initializers under the module's own names (class_token,
  /// layer_scale, in_proj_bias) and names what it made up otherwise. Buffers
  /// have such names, too: the usual ones are told apart by name.
  bool isModuleState(const std::string &name) const {
    static const std::regex madeUp(
        "::|^/|^val_|^_|^[0-9]+$|^Constant|_output_[0-9]+$");
    static const std::regex buffer(
        "running_|num_batches|mask|inv_freq|freqs|(^|\\.)pe$|anchor|"
        "(^|\\.)(mean|std|var|sin|cos)(_cached)?$|relative_position_index|"
        "position_ids|relative_coords|attn\\.bias$");
    return file.model->producer_name() == "pytorch" &&
           !std::regex_search(name, madeUp) && !std::regex_search(name, buffer);
  }

  /// Collects the "%p_conv1_weight" and "%b_bn1_running_mean" of a call.
  void readFxNode(const std::string &text) {
    auto isWord = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    for (size_t at = text.find('%'); at != std::string::npos;
         at = text.find('%', at + 1)) {
      size_t end = at + 1;
      while (end < text.size() && isWord(text[end]))
        ++end;
      fxValues.insert(text.substr(at + 1, end - at - 1));
    }
  }

  void visit(const std::string &value, std::set<std::string> &seen,
             bool &weightOperand, bool &statistics) {
    auto it = uses.find(value);
    if (it == uses.end() || seen.size() > 32 || !seen.insert(value).second)
      return;
    for (const Use &use : it->second) {
      const onnx::NodeProto &node = *use.node;
      weightOperand |= isWeightOperand(node, use.input);
      statistics |= node.op_type() == "BatchNormalization" && use.input >= 3;
      if (use.input == 0 && kPassThrough.count(node.op_type()))
        for (const std::string &output : node.output())
          visit(output, seen, weightOperand, statistics);
    }
  }

  const OnnxFile &file;
  std::unordered_map<std::string, std::vector<Use>> uses;
  std::set<std::string> fxValues;
};

Result<std::vector<std::regex>> compile(const std::vector<std::string> &texts) {
  std::vector<std::regex> result;
  for (const std::string &text : texts) {
    try {
      result.emplace_back(text);
    } catch (const std::regex_error &error) {
      return usageError("'{}' is not a regular expression: {}", text,
                        error.what());
    }
  }
  return result;
}

bool matches(const std::vector<std::regex> &patterns, const std::string &name) {
  for (const std::regex &pattern : patterns)
    if (std::regex_search(name, pattern))
      return true;
  return false;
}

/// A pattern without a match is a slip of the pen.
Status expectMatches(const OnnxFile &file, const char *flag,
                     const std::vector<std::string> &texts,
                     const std::vector<std::regex> &patterns) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    bool used = false;
    for (const auto &[name, weight] : file.weights.all())
      used |= std::regex_search(name, patterns[i]);
    if (!used)
      return usageError("{}={} matches no initializer of the model", flag,
                        texts[i]);
  }
  return {};
}

} // namespace

Result<std::map<std::string, Role>> findRoles(const OnnxFile &file,
                                              const RoleOverrides &overrides) {
  DLC_ASSIGN(auto train, compile(overrides.train));
  DLC_ASSIGN(auto freeze, compile(overrides.freeze));
  DLC_TRY(expectMatches(file, "--train", overrides.train, train));
  DLC_TRY(expectMatches(file, "--freeze", overrides.freeze, freeze));
  RoleFinder finder(file);
  std::map<std::string, Role> roles;
  for (const auto &[name, weight] : file.weights.all()) {
    Role role = finder.find(name, weight);
    if (role != Role::Buffer && matches(freeze, name))
      role = Role::Constant;
    else if (role != Role::Buffer && isFloat(weight.dtype) &&
             matches(train, name))
      role = Role::Param;
    roles[name] = role;
  }
  return roles;
}

} // namespace dlc::import
