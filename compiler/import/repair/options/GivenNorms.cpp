// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/options/GivenNorms.h"
#include "compiler/import/file/GraphEdit.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/TorchNotes.h"
#include "compiler/import/repair/options/FreshNorms.h"
#include "compiler/import/repair/options/WeightNames.h"
#include "compiler/import/tensor/Floats.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace dlc::import {
namespace {

std::string parentPath(const std::string &path) {
  size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot + 1);
}

double numberOr(const std::string &text, double otherwise) {
  double number = otherwise;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number
                                                                  : otherwise;
}

using Doubles = std::vector<double>;

Doubles doublesOf(const Weight &weight) {
  const std::vector<float> values = floatsOf(weight);
  return {values.begin(), values.end()};
}

/// "conv1" -> "bn1", "0" -> "1": usual names of a layer's norm.
std::vector<std::string> usualNames(const std::string &layer) {
  const std::string parent = parentPath(layer),
                    leaf = layer.substr(parent.size());
  int64_t place = 0;
  auto [end, error] =
      std::from_chars(leaf.data(), leaf.data() + leaf.size(), place);
  if (error == std::errc() && end == leaf.data() + leaf.size())
    return {parent + std::to_string(place + 1)};
  std::vector<std::string> names;
  for (auto [from, to] :
       {std::pair("convolution", "normalization"), std::pair("conv", "bn"),
        std::pair("conv", "norm"), std::pair("fc", "bn")})
    if (size_t at = leaf.find(from); at != std::string::npos)
      names.push_back(parent + std::string(leaf).replace(
                                   at, std::string_view(from).size(), to));
  return names;
}

/// "bn2" before "bn10".
bool comesBefore(const std::string &a, const std::string &b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

constexpr double kEpsilons[] = {1e-5, 1e-3, 1e-6, 1e-4, 1e-12};

class NormGiver {
public:
  NormGiver(OnnxFile &file, std::map<std::string, Weight> &given)
      : file(file), given(given), edit(file), notes(file.model->graph()) {}

  GivenNorms run() {
    result.left = file.foldedNorms;
    findNorms();
    findLayers();
    pairByNotes();
    pairByNames();
    pairByOrder();
    for (Layer &layer : layers)
      if (layer.norm.name.empty())
        continue;
      else if (layer.isFresh)
        rename(layer);
      else
        fold(layer);
    edit.close();
    return std::move(result);
  }

private:
  struct Layer {
    onnx::NodeProto *node;    // null: of an added norm
    std::string path;         // "layer1.0.conv1"
    std::string weight, bias; // tensors of the model, or ""
    int64_t channels = 0;
    bool isFresh = false; // its norm is separate in the model
    std::string own = {}; // the norm's name there
    FoldedNorm norm = {};
    bool isNoted = false;
  };

  const Weight *find(const std::string &name) const {
    auto it = given.find(name);
    return it == given.end() ? nullptr : &it->second;
  }

  /// Finds norms of `given` that the model lacks under these names.
  void findNorms() {
    for (const auto &[name, variance] : given) {
      const std::string norm = withoutEnd(name, ".running_var");
      if (norm == name || edit.weight(name))
        continue;
      const Weight *mean = find(norm + ".running_mean");
      const bool fits = mean && mean->shape == variance.shape &&
                        variance.shape.size() == 1 &&
                        fitsOrLacks(norm + ".weight", variance) &&
                        fitsOrLacks(norm + ".bias", variance);
      if (fits)
        norms[norm] = variance.shape[0];
    }
  }
  bool fitsOrLacks(const std::string &name, const Weight &like) const {
    const Weight *found = find(name);
    return !found || found->shape == like.shape;
  }

  void findLayers() {
    for (const auto *folded : foldedNorms(file)) {
      auto *node = const_cast<onnx::NodeProto *>(folded);
      const Weight *weight = edit.weight(node->input(1));
      const int64_t channels = weight ? channelsOf(*node, *weight) : 0;
      if (!channels || !file.foldedNorms.count(node->input(1)))
        continue;
      layers.push_back(
          {node, withoutEnd(node->input(1), ".weight"), node->input(1),
           node->input_size() > 2 ? node->input(2) : "", channels});
    }
    for (const auto &[norm, layer] : file.freshNorms)
      if (const Weight *mean = edit.weight(norm + ".running_mean");
          mean && !find(norm + ".running_mean"))
        layers.push_back(
            {nullptr, layer, "", "", mean->elements(), true, norm});
  }

  /// 0 if its weight does not have the module's layout.
  int64_t channelsOf(const onnx::NodeProto &node, const Weight &weight) const {
    NodeView view(node, file.opset);
    if (weight.shape.size() < 2 || !isFloat(weight.dtype))
      return 0;
    if (node.op_type() == "Conv" ||
        (node.op_type() == "Gemm" && view.integer("transB", 0)))
      return weight.shape[0];
    const int64_t groups = view.integer("group", 1);
    const bool fits = node.op_type() == "ConvTranspose" && groups > 0 &&
                      weight.shape[0] % groups == 0;
    return fits ? weight.shape[1] * groups : 0;
  }

  // ===--- match norms and layers ----------------------------------------===//

  bool isFree(const std::string &norm, int64_t channels) const {
    auto it = norms.find(norm);
    return it != norms.end() && it->second == channels && !claimed.count(norm);
  }

  void claim(Layer &layer, FoldedNorm norm) {
    claimed.insert(norm.name);
    layer.norm = std::move(norm);
  }

  void pairByNotes() {
    for (Layer &layer : layers)
      if (auto noted = layer.node ? notedNorm(notes, *layer.node)
                                  : std::optional<FoldedNorm>();
          noted && isFree(noted->name, layer.channels)) {
        claim(layer, *noted);
        layer.isNoted = true;
      }
  }

  /// Matches names that only one layer can use.
  void pairByNames() {
    std::map<std::string, std::vector<Layer *>> claims;
    for (Layer &layer : layers)
      if (layer.norm.name.empty())
        for (const std::string &name : usualNames(layer.path))
          if (isFree(name, layer.channels)) {
            claims[name].push_back(&layer);
            break;
          }
    for (auto &[name, owners] : claims)
      if (owners.size() == 1)
        claim(*owners[0], {name});
  }

  /// Matches a module's layers and norms in order, if their numbers are equal.
  void pairByOrder() {
    std::map<std::string, std::vector<Layer *>> left;
    for (Layer &layer : layers)
      if (layer.norm.name.empty())
        left[parentPath(layer.path)].push_back(&layer);
    std::map<std::string, std::vector<std::string>> free;
    for (const auto &[name, channels] : norms)
      if (!claimed.count(name))
        free[parentPath(name)].push_back(name);
    for (auto &[parent, own] : left) {
      auto &names = free[parent];
      std::sort(names.begin(), names.end(), comesBefore);
      const bool fits =
          std::equal(own.begin(), own.end(), names.begin(), names.end(),
                     [&](const Layer *layer, const std::string &norm) {
                       return layer->channels == norms[norm];
                     });
      for (size_t i = 0; fits && i < own.size(); ++i)
        claim(*own[i], {names[i]});
    }
  }

  // ===--- fold ----------------------------------------------------------===//

  void note(const Layer &layer, bool isSure) {
    const std::string both = layer.path + " with " + layer.norm.name;
    result.done.push_back(both);
    if (!isSure)
      file.decisions.push_back({layer.path + ".weight", "by names",
                                layer.norm.name + " of --weights belongs to it",
                                true, both});
    result.left.erase(layer.weight);
    result.left.erase(layer.bias);
  }

  /// Renames the norm's values to the model's names. A bias that is in the
  /// layer in `given` but in the norm in the model is subtracted from the mean.
  void rename(Layer &layer) {
    const std::string &from = layer.norm.name;
    if (auto bias = given.find(layer.path + ".bias");
        bias != given.end() && !edit.weight(bias->first) &&
        bias->second.elements() == layer.channels) {
      Doubles mean = doublesOf(*find(from + ".running_mean"));
      const Doubles moved = doublesOf(bias->second);
      for (size_t i = 0; i < mean.size(); ++i)
        mean[i] -= moved[i];
      own(from + ".running_mean", {layer.channels}, mean);
      given.erase(bias);
    }
    for (const char *part :
         {".weight", ".bias", ".running_mean", ".running_var"})
      if (auto node = given.extract(from + part)) {
        node.key() = layer.own + part;
        given.insert(std::move(node));
      }
    note(layer, false);
  }

  struct Factors {
    Doubles scale, shift; // y = scale (w x) + shift
  };

  Factors factorsOf(const Layer &layer, double epsilon) const {
    const size_t count = size_t(layer.channels);
    auto part = [&](const std::string &name, double otherwise) {
      const Weight *found = find(name);
      return found ? doublesOf(*found) : Doubles(count, otherwise);
    };
    const std::string &norm = layer.norm.name;
    const Doubles gamma = part(norm + ".weight", 1),
                  beta = part(norm + ".bias", 0),
                  mean = part(norm + ".running_mean", 0),
                  variance = part(norm + ".running_var", 1),
                  bias = part(layer.path + ".bias", 0);
    Factors f{Doubles(count), Doubles(count)};
    for (size_t c = 0; c < count; ++c) {
      f.scale[c] = gamma[c] / std::sqrt(variance[c] + epsilon);
      f.shift[c] = beta[c] + (bias[c] - mean[c]) * f.scale[c];
    }
    return f;
  }

  /// The channel of the element at index `at`.
  size_t channelAt(const Layer &layer, const Weight &weight, size_t at) const {
    const size_t rest =
        size_t(weight.elements() / std::max<int64_t>(1, weight.shape[0]));
    if (layer.node->op_type() != "ConvTranspose")
      return at / rest;
    const size_t groups = size_t(
                     NodeView(*layer.node, file.opset).integer("group", 1)),
                 width = size_t(weight.shape[1]), place = rest / width;
    const size_t group = at / rest / (size_t(weight.shape[0]) / groups);
    return group * width + at / place % width;
  }

  Doubles scaled(const Layer &layer, const Weight &weight,
                 const Doubles &scale) const {
    Doubles values = doublesOf(weight);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] *= scale[channelAt(layer, weight, i)];
    return values;
  }

  /// Whether the values are those of the file, except for rounding.
  bool isAsInFile(const Layer &layer, const Doubles &values) const {
    const Doubles held = doublesOf(*edit.weight(layer.weight));
    for (size_t i = 0; i < held.size(); ++i)
      if (!(std::abs(values[i] - held[i]) <= 2e-6 * std::abs(held[i]) + 1e-30))
        return false;
    return true;
  }

  void fold(Layer &layer) {
    const std::string weight = layer.path + ".weight",
                      bias = layer.path + ".bias";
    const Weight *raw = find(weight);
    if (!raw || raw->shape != edit.weight(layer.weight)->shape ||
        !raw->elements() ||
        !fitsOrLacks(bias, *find(layer.norm.name + ".running_var")))
      return;
    Factors factors = factorsOf(layer, layer.norm.epsilon);
    Doubles values = scaled(layer, *raw, factors.scale);
    bool isSure = layer.isNoted;
    for (double epsilon : kEpsilons) {
      if (isSure)
        break;
      Factors others = factorsOf(layer, epsilon);
      Doubles found = scaled(layer, *raw, others.scale);
      if ((isSure = isAsInFile(layer, found))) {
        factors = std::move(others);
        values = std::move(found);
      }
    }
    own(layer.weight, raw->shape, values);
    own(biasOf(layer), {layer.channels}, factors.shift);
    for (const char *part :
         {".weight", ".bias", ".running_mean", ".running_var"})
      given.erase(layer.norm.name + part);
    note(layer, isSure);
  }

  /// The model's bias of a layer. Adds one if the exporter dropped it because
  /// it was zero.
  std::string biasOf(Layer &layer) {
    if (!layer.bias.empty())
      return layer.bias;
    const std::string name = edit.unusedName(layer.path + ".bias");
    edit.ownInitializer(name, DType::F32, {layer.channels},
                        std::string(size_t(layer.channels) * 4, '\0'));
    edit.attach(*layer.node, 2, name);
    file.roles[name] = Role::Param;
    file.decisions.push_back(
        {name, "restored", "for what a batch norm of --weights adds"});
    result.added.insert(name);
    return layer.bias = name;
  }

  void own(const std::string &name, std::vector<int64_t> shape,
           const Doubles &values) {
    const std::vector<float> rounded(values.begin(), values.end());
    auto bytes = std::make_shared<std::string>(
        reinterpret_cast<const char *>(rounded.data()), rounded.size() * 4);
    file.weights.keep(bytes);
    given[name] = {DType::F32, std::move(shape), bytes->data(), bytes->size()};
  }

  OnnxFile &file;
  std::map<std::string, Weight> &given;
  GraphEdit edit;
  TorchNotes notes;
  std::map<std::string, int64_t> norms; // of `given`, and their channels
  std::set<std::string> claimed;
  std::vector<Layer> layers;
  GivenNorms result;
};

} // namespace

std::optional<FoldedNorm> notedNorm(const TorchNotes &notes,
                                    const onnx::NodeProto &layer) {
  const TorchCall &call = notes.call(layer);
  if (!call.known || call.target.find("batch_norm") == std::string::npos ||
      call.args.size() < 7 || !call.args[1].starts_with('%'))
    return std::nullopt;
  auto weight = notes.parameter(call.args[1].substr(1));
  if (!weight)
    return std::nullopt;
  const size_t first = call.target.ends_with("no_training") ? 5 : 6;
  FoldedNorm norm{withoutEnd(*weight, ".weight")};
  norm.momentum = numberOr(call.args[first], norm.momentum);
  if (first + 1 < call.args.size())
    norm.epsilon = numberOr(call.args[first + 1], norm.epsilon);
  return norm;
}

GivenNorms foldGivenNorms(OnnxFile &file,
                          std::map<std::string, Weight> &given) {
  return NormGiver(file, given).run();
}

} // namespace dlc::import
