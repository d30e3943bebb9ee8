#include "compiler/import/state/Roles.h"
#include "compiler/import/state/Triangles.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/options/Pattern.h"
#include <algorithm>
#include <set>
#include <unordered_map>

namespace dlc::import {
namespace {

const std::set<std::string> kPassThrough = {
    "Identity", "Transpose",      "Reshape",         "Cast",  "CastLike",
    "Squeeze",  "Unsqueeze",      "Flatten",         "Slice", "Expand",
    "Split",    "QuantizeLinear", "DequantizeLinear"};

bool isWeightOperand(const onnx::NodeProto &node, int input) {
  static const std::set<std::string> norms = {
      "BatchNormalization", "LayerNormalization", "InstanceNormalization",
      "GroupNormalization", "RMSNormalization"};
  const std::string &op = node.op_type();
  if (op == "Conv" || op == "ConvTranspose")
    return input >= 1;
  if (op == "DeformConv")
    return input == 1 || input == 3;
  if (norms.count(op))
    return input == 1 || input == 2;
  if (op == "LSTM" || op == "GRU" || op == "RNN")
    return input >= 1 && input <= 3;
  return op == "Gemm" || op == "MatMul" || (op == "Gather" && input == 0);
}

/// Scales of quantisation and class weights, whatever their names.
bool isSetting(const onnx::NodeProto &node, int input) {
  static const std::set<std::string> losses = {"SoftmaxCrossEntropyLoss",
                                               "NegativeLogLikelihoodLoss"};
  static const std::set<std::string> scales = {"QuantizeLinear",
                                               "DequantizeLinear"};
  const std::string &op = node.op_type();
  return (losses.count(op) && input == 2) || (scales.count(op) && input == 1) ||
         op.starts_with("QLinear");
}

struct Use {
  const onnx::NodeProto *node;
  int input;
};

class RoleFinder {
public:
  explicit RoleFinder(const OnnxFile &file) : file(file) {
    for (const auto *node : file.nodes) {
      addUses(*node);
      for (const auto &entry : node->metadata_props())
        if (entry.key() == "pkg.torch.onnx.fx_node")
          readFxNode(entry.value());
    }
    for (const auto &tensor : file.model->graph().initializer())
      if (isNarrow(tensor.data_type()))
        narrow.insert(tensor.name());
  }

  Role find(const std::string &name, const Weight &weight) {
    Found found;
    std::set<std::string> seen;
    visit(name, seen, found);
    const bool weightOperand = found.weightOperand;
    if (found.statistics)
      return Role::Buffer;
    if (!isFloat(weight.dtype) || narrow.count(name) ||
        (found.setting && !weightOperand))
      return Role::Constant;
    if (!weightOperand && triangleOf(weight)) // a mask, whatever its name
      return Role::Constant;
    if (auto settled = file.roles.find(name); settled != file.roles.end())
      return settled->second;
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
    static const Pattern madeUp =
        *Pattern::parse("::|^/|^val_|^_|^[0-9]+$|^Constant|_output_[0-9]+$");
    static const Pattern buffer = *Pattern::parse(
        "running_|num_batches|mask|inv_freq|freqs|(^|\\.)pe$|anchor|"
        "(^|\\.)(mean|std|var|sin|cos)(_cached)?$|relative_position_index|"
        "position_ids|relative_coords|attn\\.bias$");
    return file.model->producer_name() == "pytorch" && !madeUp.search(name) &&
           !buffer.search(name);
  }

  void addUses(const onnx::NodeProto &node) {
    for (int i = 0; i < node.input_size(); ++i)
      uses[node.input(i)].push_back({&node, i});
    for (const auto &attribute : node.attribute())
      for (const auto &inner : attribute.g().node())
        addUses(inner);
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

  /// What a value is to the nodes that it reaches.
  struct Found {
    bool weightOperand = false, statistics = false, setting = false;
  };

  void visit(const std::string &value, std::set<std::string> &seen,
             Found &found) {
    auto it = uses.find(value);
    if (it == uses.end() || seen.size() > 32 || !seen.insert(value).second)
      return;
    for (const Use &use : it->second) {
      const onnx::NodeProto &node = *use.node;
      found.weightOperand |= isWeightOperand(node, use.input);
      found.setting |= isSetting(node, use.input);
      found.statistics |=
          node.op_type() == "BatchNormalization" && use.input >= 3;
      if (use.input == 0 && kPassThrough.count(node.op_type()))
        for (const std::string &output : node.output())
          visit(output, seen, found);
    }
  }

  const OnnxFile &file;
  std::unordered_map<std::string, std::vector<Use>> uses;
  std::set<std::string> fxValues;
  std::set<std::string> narrow; // what a wider type holds is not trained
};

/// A pattern without a match is a slip of the pen.
Status expectMatches(const OnnxFile &file, const char *flag,
                     const std::vector<Pattern> &patterns) {
  std::vector<std::string> names;
  for (const auto &[name, weight] : file.weights.all())
    names.push_back(name);
  for (const Pattern &pattern : patterns)
    if (std::none_of(names.begin(), names.end(), [&](const std::string &name) {
          return pattern.search(name);
        }))
      return usageError("{}={} matches no initializer of the model{}", flag,
                        pattern.text(), nearbyNames(pattern.text(), names));
  return {};
}

} // namespace

Result<std::map<std::string, Role>> findRoles(const OnnxFile &file,
                                              const RoleOverrides &overrides) {
  DLC_ASSIGN(auto train, parsePatterns(overrides.train));
  DLC_ASSIGN(auto freeze, parsePatterns(overrides.freeze));
  DLC_TRY(expectMatches(file, "--train", train));
  DLC_TRY(expectMatches(file, "--freeze", freeze));
  RoleFinder finder(file);
  std::map<std::string, Role> roles;
  for (const auto &[name, weight] : file.weights.all()) {
    Role role = finder.find(name, weight);
    if (role != Role::Buffer && searchAny(freeze, name))
      role = Role::Constant;
    else if (role != Role::Buffer && isFloat(weight.dtype) &&
             searchAny(train, name))
      role = Role::Param;
    roles[name] = role;
  }
  return roles;
}

} // namespace dlc::import
