// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {
namespace {

/// Torch's index (ifgo, rzn) of each gate in ONNX's order (iofc, zrh).
const std::vector<int64_t> &gatesOf(const std::string &op) {
  static const std::vector<int64_t> lstm = {0, 3, 1, 2}, gru = {1, 0, 2},
                                    rnn = {0};
  return op == "LSTM" ? lstm : op == "GRU" ? gru : rnn;
}

bool isRecurrent(const onnx::NodeProto &node) {
  const std::string &op = node.op_type();
  return node.domain().empty() && (op == "LSTM" || op == "GRU" || op == "RNN");
}

/// Splits a layer's packs into torch's tensors, for both directions.
class Recurrent : GraphRepair {
public:
  using GraphRepair::GraphRepair;

  void run() {
    std::vector<const onnx::NodeProto *> nodes;
    for (const auto &node : edit.graph.node())
      if (isRecurrent(node) && node.input_size() >= 3 && node.output_size())
        nodes.push_back(&node);
    for (const auto *node : nodes)
      unpack(*node);
  }

private:
  /// A pack W, R or B of a node: a part per direction and torch tensor, each of
  /// `gates` blocks of `block` elements.
  struct Pack {
    std::string name;
    std::vector<std::string> parts;
    std::vector<int64_t> shape; // of a part
    int64_t block = 0;
  };

  void unpack(const onnx::NodeProto &node) {
    const Weight *r = packed(node, 2);
    if (!r || r->shape.size() != 3 || !packed(node, 1))
      return;
    const bool biased = !inputOf(node, 3).empty();
    const auto names = namesOf(node, size_t(r->shape[0]), biased);
    if (names.empty() || r->shape[0] > 2 ||
        std::ranges::any_of(names, [&](const std::string &name) {
          return edit.unusedName(name) != name;
        }))
      return;
    std::vector<Pack> packs;
    for (int slot = 1; slot <= (biased ? 3 : 2); ++slot) {
      auto pack = packOf(node, slot, *r, names);
      if (!pack)
        return;
      packs.push_back(std::move(*pack));
    }
    for (const Pack &pack : packs)
      part(pack, gatesOf(node.op_type()));
  }

  /// nullopt if the input's shape does not fit a layer with the matrix `r`.
  std::optional<Pack> packOf(const onnx::NodeProto &node, int slot,
                             const Weight &r,
                             const std::vector<std::string> &names) const {
    const bool isBias = slot == 3; // weight_ih, weight_hh; bias_ih and bias_hh
    const int64_t directions = r.shape[0], hidden = r.shape[2];
    const int64_t rows = int64_t(gatesOf(node.op_type()).size()) * hidden;
    const Weight *weight = packed(node, slot);
    if (!weight || weight->shape.size() != (isBias ? 2 : 3) ||
        weight->shape[0] != directions ||
        weight->shape[1] != (isBias ? 2 * rows : rows))
      return std::nullopt;
    Pack pack{node.input(slot), {}, {rows}, hidden};
    if (!isBias) {
      pack.shape.push_back(weight->shape[2]);
      pack.block *= weight->shape[2];
    }
    const int each = int(names.size()) / int(directions);
    for (int d = 0; d < directions; ++d)
      for (int i = slot - 1; i < (isBias ? 4 : slot); ++i)
        pack.parts.push_back(names[size_t(d * each + i)]);
    return pack;
  }

  const Weight *packed(const onnx::NodeProto &node, int slot) const {
    const std::string &name = node.input(slot);
    const Weight *weight = edit.weight(name);
    bool own = weight && isFloat(weight->dtype) && !edit.isFixed(name) &&
               isMadeUp(work.notes, name) && edit.uses(name).size() == 1;
    return own ? weight : nullptr;
  }

  /// weight_ih, weight_hh, bias_ih and bias_hh of each direction.
  std::vector<std::string> namesOf(const onnx::NodeProto &node,
                                   size_t directions, bool biased) {
    const size_t count = directions * (biased ? 4 : 2);
    if (const TorchCall &call = work.notes.call(node); call.known)
      return noted(call, count);
    auto module = moduleOf(work.notes, node);
    const std::string leaf = node.name().substr(node.name().rfind('/') + 1);
    if (!module || module->empty() || !leaf.starts_with(node.op_type()))
      return {};
    std::string layer = leaf.substr(node.op_type().size()); // "_1"
    layer = layer.empty() ? "0" : layer.substr(1);
    std::vector<std::string> names;
    for (size_t d = 0; d < directions; ++d)
      for (const char *kind : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
        if (biased || std::string(kind).starts_with("weight"))
          names.push_back(*module + "." + kind + "_l" + layer +
                          (d ? "_reverse" : ""));
    return names;
  }

  /// The call names the tensors of all layers; layers are nodes in order.
  std::vector<std::string> noted(const TorchCall &call, size_t count) {
    std::vector<std::string> names;
    for (const std::string &tensor : call.tensors)
      if (auto target = work.notes.parameter(tensor);
          target && !work.notes.isBuffer(tensor))
        names.push_back(*target);
    if (names.empty())
      return {};
    const size_t first = count * layers[names[0]]++;
    if (first + count > names.size())
      return {};
    return {names.begin() + ptrdiff_t(first),
            names.begin() + ptrdiff_t(first + count)};
  }

  void part(const Pack &pack, const std::vector<int64_t> &gates) {
    const Weight weight = *edit.weight(pack.name);
    Replaced record{
        pack.name, edit.typeOf(pack.name), weight.shape, weight.shape, {}, {},
        {}};
    const Use use = edit.uses(pack.name)[0];
    const size_t block = size_t(pack.block) * sizeOf(weight.dtype);
    const char *from = weight.at();
    std::vector<std::string> blocks;
    for (const std::string &name : pack.parts) {
      std::string bytes(block * gates.size(), '\0');
      for (int64_t gate : gates) {
        std::copy_n(from, block, bytes.data() + size_t(gate) * block);
        from += block;
        record.pieces.push_back(
            {name, gate * pack.block, pack.block, pack.shape});
      }
      edit.ownInitializer(name, weight.dtype, pack.shape, std::move(bytes));
      work.settle(name);
      addBlocks(name, gates, pack.shape[0] / int64_t(gates.size()), blocks);
      work.decide(name, "unfolded", "the exporter packed it into " + pack.name);
    }
    const std::string now = packedAgain(pack, weight.shape, blocks);
    edit.redirect(use, now);
    record.uses.push_back({use.node->output(0), use.slot, pack.name, now});
    work.file.replaced.push_back(std::move(record));
  }

  void addBlocks(const std::string &name, const std::vector<int64_t> &gates,
                 int64_t rows, std::vector<std::string> &blocks) {
    if (gates.size() == 1)
      return blocks.push_back(name);
    for (size_t i = 0; i < gates.size();) {
      size_t end = i + 1; // run of gates with the same order in both
      while (end < gates.size() && gates[end] == gates[end - 1] + 1)
        ++end;
      blocks.push_back(edit.add("Slice",
                                {name, edit.integers({gates[i] * rows}),
                                 edit.integers({(gates[end - 1] + 1) * rows}),
                                 edit.integers({0})},
                                fmt::format("{}/gate{}", name, gates[i])));
      i = end;
    }
  }

  std::string packedAgain(const Pack &pack, const std::vector<int64_t> &shape,
                          const std::vector<std::string> &blocks) {
    std::string joined = blocks[0];
    if (blocks.size() > 1)
      joined =
          edit.add("Concat", blocks, pack.parts[0] + "/joined", {{"axis", 0}});
    return edit.add("Reshape", {joined, edit.integers(shape)},
                    pack.parts[0] + "/packed");
  }

  std::map<std::string, size_t> layers; // by the first name in a call
};

} // namespace

void unpackRecurrent(Restoring &work) {
  if (isOfTorch(*work.file.model))
    Recurrent(work).run();
}

} // namespace dlc::import
