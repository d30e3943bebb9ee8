// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/roles/Roles.h"
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/TorchNotes.h"
#include "compiler/import/roles/Evidence.h"
#include "compiler/import/roles/FixedNumbers.h"
#include "compiler/import/roles/LayerSearch.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include "runtime/base/options/Pattern.h"
#include <algorithm>
#include <set>
#include <unordered_map>

namespace dlc::import {
namespace {

class RoleFinder {
public:
  explicit RoleFinder(const OnnxFile &file)
      : file(file), search(file, flow), isTorch(isOfTorch(*file.model)) {
    for (const auto *node : file.nodes) {
      flow.addWithBodies(*node);
      for (const auto &entry : node->metadata_props())
        if (entry.key() == "pkg.torch.onnx.fx_node")
          for (std::string &name : tensorsIn(entry.value()))
            fxValues.insert(std::move(name));
    }
    for (const auto &tensor : file.model->graph().initializer())
      if (isNarrow(tensor.data_type()))
        narrow.insert(tensor.name());
    for (const Decision &decision : file.decisions) {
      decisions[decision.tensor] = decision.text;
      if (decision.kind == "of a node")
        ofNodes.insert(decision.tensor);
    }
    for (const auto &[name, weight] : file.weights.all())
      hasOthers |= isFloat(weight.dtype) && weight.elements() > 1 &&
                   !ofNodes.count(name);
  }

  Found find(const std::string &name, const Weight &weight) {
    Reading reading;
    std::set<std::string> seen;
    visit(name, seen, reading);
    Found found = byUse(name, weight, reading);
    if (found.role == Role::Param && isTorch)
      if (Formula formula = formulaOf(weight);
          isFixed(formula, reading, weight) &&
          !(formula == Formula::Steps && isNotedParameter(name)))
        return {Role::Constant,
                fmt::format("{}, which models do not train; else {}",
                            nameOf(formula), found.reason),
                RoleDoubt::Values};
    return found;
  }

private:
  /// Uses of a value, also through nodes that move its elements.
  struct Reading {
    const onnx::NodeProto *weightOf = nullptr, *settingOf = nullptr,
                          *statisticOf = nullptr, *any = nullptr,
                          *derivedBy = nullptr, *joinedBy = nullptr;
    bool isLookedUp = false, isOfFoldedNorm = false;
  };

  Found byUse(const std::string &name, const Weight &weight,
              const Reading &reading) const {
    if (reading.statisticOf)
      return {Role::Buffer,
              "a running statistic of " + described(reading.statisticOf)};
    if (!isFloat(weight.dtype))
      return {
          Role::Constant,
          fmt::format("holds {}, which have no gradient", nameOf(weight.dtype)),
          RoleDoubt::None, isCodes(name, reading.settingOf)};
    if (narrow.count(name))
      return {Role::Constant,
              "has fewer bits per element than trained tensors"};
    if (reading.settingOf && !reading.weightOf)
      return {Role::Constant, "a setting of " + described(reading.settingOf)};
    if (reading.derivedBy)
      return {Role::Param, "an operand xs of " + described(reading.derivedBy)};
    if (!reading.weightOf && triangleOf(weight))
      return {Role::Constant, "a triangular mask"};
    if (auto settled = file.roles.find(name); settled != file.roles.end()) {
      auto why = decisions.find(name);
      return {settled->second, why != decisions.end() ? why->second
                               : settled->second == Role::Param
                                   ? kNotedParameter
                                   : kNotedBuffer};
    }
    if (fxValues.count("b_" + fxNameOf(name)) ||
        fxValues.count("c_" + fxNameOf(name)))
      return {Role::Constant, kNotedBuffer};
    if (isNotedParameter(name))
      return {Role::Param, kNotedParameter};
    return byName(name, weight, reading);
  }

  static std::string fxNameOf(std::string name) {
    std::replace_if(
        name.begin(), name.end(),
        [](unsigned char c) { return !std::isalnum(c); }, '_');
    return name;
  }
  bool isNotedParameter(const std::string &name) const {
    const auto settled = file.roles.find(name);
    return settled != file.roles.end()
               ? settled->second == Role::Param
               : fxValues.count("p_" + fxNameOf(name)) > 0;
  }

  /// By the name in the file; for a split tensor that of the merged tensor.
  Found byName(const std::string &own, const Weight &weight,
               const Reading &reading) const {
    auto parted = file.partedFrom.find(own);
    const std::string &name =
        parted == file.partedFrom.end() ? own : parted->second;
    if (isOfFrozenNorm(own, file, flow))
      return {Role::Constant,
              "scale or shift of a norm with constant statistics",
              RoleDoubt::Use};
    if (isOfPowerIteration(name, file))
      return {Role::Constant, "a singular vector that spectral norm keeps"};
    static const Pattern ofModule = *Pattern::parse(
        "[.](weight|bias|weight_[gv]|parametrizations[.][^.]+[.]original[01]?)"
        "$");
    if (ofModule.search(name))
      return {Role::Param, "named as a module's weight or bias"};
    const bool isMadeUp = madeUpNames().search(name);
    const BufferSign sign =
        isMadeUp ? BufferSign::None : bufferSignOf(own, name, file, flow);
    if (llvm::is_contained({BufferSign::Use, BufferSign::Values}, sign))
      return named(sign);
    if (reading.weightOf) {
      if (isOfGroups(own, *reading.weightOf, weight))
        return {Role::Constant,
                "constants of the source's group norm, not parameters"};
      if (weight.elements() > 1 || isTorch ||
          (!weight.shape.empty() && !reading.isLookedUp))
        return mayBeBuffer(own, name, weight, reading)
                   ? byRole(reading)
                   : Found{Role::Param,
                           "a weight of " + described(reading.weightOf)};
    }
    if (weight.elements() <= 1)
      return ofNumber(own, weight, name, reading, sign);
    if (auto found = byOperand(weight, reading, isMadeUp))
      return *found;
    return sign == BufferSign::None && mayBeBuffer(own, name, weight, reading)
               ? byRole(reading)
               : named(sign);
  }

  /// The role of a tensor that no layer reads as its weight.
  std::optional<Found> byOperand(const Weight &weight, const Reading &reading,
                                 bool isMadeUp) const {
    if (isTorch && isMadeUp && reading.isOfFoldedNorm)
      return Found{Role::Constant,
                   "scale or shift of what looks like a folded norm with "
                   "constant statistics",
                   RoleDoubt::Use};
    if (isTorch && reading.joinedBy && !isChoice(weight))
      return Found{Role::Param,
                   "a value per channel of the residual branch that " +
                       described(reading.joinedBy) + " adds to its input"};
    if (!isTorch || isMadeUp)
      return Found{Role::Constant,
                   "not a weight of a layer, but an operand of " +
                       described(reading.any),
                   !isTorch && reading.any && mayBeLearned(weight, *reading.any)
                       ? RoleDoubt::Operand
                       : RoleDoubt::None};
    return std::nullopt;
  }

  /// Whether `reader` may read a parameter: positions, a token or scales, not a
  /// mask, nor what normalizes an input of the model.
  bool mayBeLearned(const Weight &weight, const onnx::NodeProto &reader) const {
    static const std::set<std::string> readers = {
        "Add", "Concat", "Expand", "Loop", "Mul", "Scan", "Sum", "Tile"};
    return readers.count(reader.op_type()) && !isTwoNumbers(weight) &&
           formulaOf(weight) == Formula::None &&
           std::ranges::none_of(reader.input(), [&](const std::string &input) {
             const std::string source = search.behind(input);
             return !flow.maker(source) && !file.weights.find(source);
           });
  }

  /// Whether an operand may be a buffer: neither its reader nor its name is
  /// typical of parameters, and the file does not distinguish the two (torch's
  /// older exporter, or a Constant node of a file that has initializers).
  bool mayBeBuffer(const std::string &own, const std::string &name,
                   const Weight &weight, const Reading &reading) const {
    static const Pattern learned = *Pattern::parse(
        "(weight|bias|kernel|gamma|beta|alpha|scale|gain|gate|slope|embed|"
        "token|query|queries|prompt|latent|codebook|logit|temperature|table|"
        "expert)"
        "[^.]*$|(^|[._])(pos|cls)$");
    static const std::set<std::string> products = {"MatMul", "Einsum"};
    if (weight.elements() < 2 || learned.search(name) || !reading.any)
      return false;
    const auto *layer = reading.weightOf;
    const std::string op = layer ? layer->op_type() : "";
    if (!isTorch)
      return hasOthers && ofNodes.count(own) &&
             (products.count(op) || op == "Gather");
    return fxValues.empty() && !madeUpNames().search(name) &&
           (!layer || products.count(op));
  }

  static Found byRole(const Reading &reading) {
    return {Role::Param,
            fmt::format(
                "an operand of {}, by its role alone; a buffer would be, too "
                "(--freeze)",
                described(reading.weightOf ? reading.weightOf : reading.any)),
            RoleDoubt::Role};
  }

  Found named(BufferSign sign) const {
    if (sign == BufferSign::Values)
      return {Role::Constant, "named like a buffer, with values of one"};
    if (sign == BufferSign::Use)
      return {Role::Constant, "named and used like a buffer",
              isTorch ? RoleDoubt::Use : RoleDoubt::None};
    if (sign == BufferSign::Name)
      return {Role::Param,
              "named like a buffer, but not used like one (--freeze)",
              RoleDoubt::Name};
    return {Role::Param, "named like a tensor of a torch module, which may be "
                         "a buffer (--freeze)"};
  }

  /// Ones or zeros of a decomposed group norm: an InstanceNormalization between
  /// two Reshapes.
  bool isOfGroups(const std::string &name, const onnx::NodeProto &norm,
                  const Weight &weight) const {
    auto reshapes = [](const onnx::NodeProto *node) {
      return node && node->op_type() == "Reshape";
    };
    if (norm.op_type() != "InstanceNormalization" || !norm.output_size() ||
        !std::ranges::count(norm.input(), name) ||
        !reshapes(flow.maker(norm.input(0))))
      return false;
    const std::vector<float> values = floatsOf(weight);
    return !values.empty() && (values[0] == 0 || values[0] == 1) &&
           std::ranges::count(values, values[0]) == ptrdiff_t(values.size()) &&
           std::ranges::all_of(flow.readers(norm.output(0)), [&](auto &reader) {
             return reshapes(reader.node);
           });
  }

  static bool isTwoNumbers(const Weight &weight) {
    const std::vector<float> values = floatsOf(weight);
    const auto [least, most] = std::ranges::minmax(values);
    return std::ranges::all_of(
        values, [=](float v) { return v == least || v == most; });
  }
  /// Only zeros and ones, like a mask.
  static bool isChoice(const Weight &weight) {
    const std::vector<float> values = floatsOf(weight);
    const auto zeros = std::ranges::count(values, 0.0F);
    const auto ones = std::ranges::count(values, 1.0F);
    return zeros && ones && size_t(zeros + ones) == values.size();
  }

  /// The older exporter stores constants of the source's text in nodes, so an
  /// initializer is a parameter or a buffer: under its own name, or a generated
  /// one if it was cast, reshaped or used in a computation. Later tools fold,
  /// too. TensorFlow's variables have the name of the op that reads them,
  /// Paddle's end in w_0.
  Found ofNumber(const std::string &own, const Weight &weight,
                 const std::string &name, const Reading &reading,
                 BufferSign sign) const {
    static const Pattern computed = *Pattern::parse(
        "/(Exp|Sigmoid|Softplus|Tanh)(_[0-9]+)?_output_[0-9]+$");
    const Found number{Role::Constant,
                       "a scalar operand of " + described(reading.any)};
    const bool folded = name.starts_with("onnx::");
    const bool isNamed = !madeUpNames().search(name);
    static const Pattern variable =
        *Pattern::parse("/ReadVariableOp|[.][wb]_[0-9]+$");
    if (!isTorch && variable.search(name) &&
        numberUseOf(own, file, flow) >= NumberUse::Operand)
      return {number.role, number.reason, RoleDoubt::Operand};
    if (!isTorch || !fxValues.empty() || weight.elements() < 1 ||
        !(folded || isNamed || computed.search(name)))
      return number;
    const NumberUse use = numberUseOf(own, file, flow);
    if (use == NumberUse::Setting)
      return number;
    if (use == NumberUse::Learned && folded)
      return {Role::Param, "a scalar that is used like a parameter, by " +
                               described(reading.any)};
    if (use >= NumberUse::Operand && isNamed)
      return named(sign);
    return {number.role, number.reason, RoleDoubt::Number};
  }

  /// For tensors that would be trained. Weights of products may be initialised
  /// as an arithmetic progression.
  static bool isFixed(Formula formula, const Reading &reading,
                      const Weight &weight) {
    if (reading.weightOf && !reading.isLookedUp)
      return weight.shape.size() > 1 &&
             (formula == Formula::Sines || formula == Formula::Count);
    return formula != Formula::None;
  }

  static std::string described(const onnx::NodeProto *node) {
    if (!node)
      return "no node";
    return fmt::format("{} '{}'", printable(node->op_type()),
                       printable(nodeLabel(*node)));
  }

  static constexpr const char
      *kNotedParameter = "a parameter of the source, as the exporter noted",
      *kNotedBuffer =
          "a buffer or constant of the source, as the exporter noted";

  /// torch names initializers after module state (class_token, layer_scale,
  /// in_proj_bias), parameters and buffers; this matches all generated names.
  static const Pattern &madeUpNames() {
    static const Pattern pattern =
        *Pattern::parse("::|^/|^val_|^_|^[0-9]+$|^Constant|_output_[0-9]+$");
    return pattern;
  }

  void visit(const std::string &value, std::set<std::string> &seen,
             Reading &reading) {
    const auto readers = flow.readers(value);
    if (readers.empty() || seen.size() > 32 || !seen.insert(value).second)
      return;
    for (const auto &[node, input] : readers) {
      read(value, *node, input, reading);
      if ((input == 0 && movesElements(*node)) ||
          joinsWeights(*node, file, flow))
        for (const std::string &output : node->output())
          visit(output, seen, reading);
    }
  }

  void read(const std::string &value, const onnx::NodeProto &node, int input,
            Reading &reading) const {
    auto note = [&](const onnx::NodeProto *&first, bool is) {
      if (is && !first)
        first = &node;
    };
    note(reading.any, true);
    note(reading.derivedBy, isDifferentiated(node, input));
    note(reading.weightOf, isWeightOperand(node, input));
    note(reading.settingOf, isSettingOperand(node, input));
    note(reading.statisticOf,
         node.op_type() == "BatchNormalization" && input >= 3);
    reading.isLookedUp |= node.op_type() == "Gather" && input == 0;
    if (!reading.weightOf && search.isVector(value)) {
      reading.weightOf = search.layerBehind(node, input);
      if (!reading.weightOf && !reading.joinedBy)
        reading.joinedBy = residualBehind(
            node, input, file.weights.find(search.behind(value))->elements(),
            file, flow);
    } else if (!reading.weightOf) {
      reading.weightOf = search.onlyChannelBehind(node, input);
    }
    reading.isOfFoldedNorm |=
        reading.joinedBy && isOfFoldedNorm(node, input, file, flow);
  }

  const OnnxFile &file;
  ValueFlow flow;
  const LayerSearch search;
  const bool isTorch;
  std::unordered_map<std::string, std::string> decisions; // of repairs
  std::set<std::string> ofNodes;                          // from Constant nodes
  bool hasOthers = false; // float initializers of the file exist
  std::set<std::string> fxValues;
  std::set<std::string> narrow; // types stored in wider ones: not trained
};

/// A pattern without matches is considered a typo.
Status expectMatches(const std::vector<std::string> &names, const char *flag,
                     const std::vector<Pattern> &patterns) {
  for (const Pattern &pattern : patterns)
    if (std::ranges::none_of(names,
                             [&](auto &name) { return pattern.search(name); }))
      return usageError("{}={} matches no initializer of the model{}", flag,
                        pattern.text(), nearbyNames(pattern.text(), names));
  return {};
}

} // namespace

std::map<std::string, Role> rolesOf(const std::map<std::string, Found> &found) {
  std::map<std::string, Role> roles;
  for (const auto &[name, entry] : found)
    roles[name] = entry.role;
  return roles;
}

Result<std::map<std::string, Found>> findRoles(const OnnxFile &file,
                                               const RoleOverrides &overrides) {
  DLC_ASSIGN(auto train, parsePatterns(overrides.train));
  DLC_ASSIGN(auto freeze, parsePatterns(overrides.freeze));
  const auto names = namesOfWeights(file);
  std::vector<std::string> all;
  for (const auto &[name, any] : names)
    all.insert(all.end(), any.begin(), any.end());
  DLC_TRY(expectMatches(all, "--train", train));
  DLC_TRY(expectMatches(all, "--freeze", freeze));
  RoleFinder finder(file);
  std::map<std::string, Found> roles;
  auto matches = [&](const std::vector<Pattern> &any, const std::string &name) {
    return std::ranges::any_of(
        names.at(name), [&](auto &known) { return searchAny(any, known); });
  };
  for (const auto &[name, weight] : file.weights.all()) {
    Found &found = roles[name] = finder.find(name, weight);
    if (found.role == Role::Buffer)
      continue;
    if (matches(freeze, name))
      found = {Role::Constant, "matches --freeze", RoleDoubt::None,
               found.role == Role::Param};
    else if (isFloat(weight.dtype) && matches(train, name))
      found = {Role::Param, "matches --train"};
  }
  return roles;
}

} // namespace dlc::import
