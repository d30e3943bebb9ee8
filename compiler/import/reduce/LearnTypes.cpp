// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Importer.h"
#include "compiler/import/reduce/ModelParts.h"
#include "compiler/import/rows/Rows.h"
#include "compiler/import/tensor/DataType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Files.h"
#include <algorithm>

using namespace mlir;

namespace dlc::import {
namespace {

/// A limit: imports are expensive, and many nodes may be unsupported.
constexpr int kMostImports = 100;
/// Two batch sizes: dimensions that differ depend on the batch.
constexpr int64_t kBatches[] = {2, 3};

struct LearnedType {
  int element = 0; // ONNX element type
  std::vector<int64_t> shape;
};
using LearnedTypes = std::map<std::string, LearnedType>;

class TypeLearner {
public:
  TypeLearner(ModelParts &parts, const std::map<std::string, int64_t> &dims,
              std::string folder)
      : parts(parts), dims(dims), path(std::move(folder) + "/model.onnx") {
    for (int i = 0; i < parts.nodes(); ++i)
      used.merge(parts.reads(parts.node(i)));
    for (const auto &output : parts.graph().output())
      used.insert(output.name());
  }

  Status run() {
    DLC_TRY(learn(0, parts.nodes()));
    std::vector<int> all;
    std::vector<std::string> names;
    for (int i = 0; i < parts.nodes(); ++i)
      if (isGood(i))
        all.push_back(i);
    for (const auto &[name, type] : known)
      names.push_back(name);
    LearnedTypes others;
    if (!names.empty())
      DLC_TRY(importPart(all, names, kBatches[1], others).status());
    for (const auto &[name, type] : known)
      if (const auto other = others.find(name); other != others.end())
        parts.setType(name, typeOf(name, type, other->second));
    return {};
  }

private:
  bool isGood(int node) const {
    return std::ranges::any_of(parts.node(node).output(), [&](auto &name) {
      return known.count(name) > 0;
    });
  }

  /// Learns types of nodes `first` to `last` - 1 and their known ancestors.
  Status learn(int first, int last) {
    std::vector<int> nodes;
    std::set<int> taken;
    std::vector<std::string> names;
    for (int i = 0; i < last; ++i) {
      bool isTaken = i < first ? isGood(i) : true;
      for (const std::string &name : parts.reads(parts.node(i)))
        if (const int *maker = parts.makerOf(name))
          isTaken = isTaken && (taken.count(*maker) || parts.typeOf(name));
      if (!isTaken)
        continue;
      taken.insert(i), nodes.push_back(i);
      for (const std::string &name : parts.node(i).output())
        if (i >= first && used.count(name))
          names.push_back(name);
    }
    if (names.empty() || ++imports > kMostImports)
      return {};
    LearnedTypes found;
    DLC_ASSIGN(const bool isImported,
               importPart(nodes, names, kBatches[0], found));
    if (isImported) {
      known.merge(found);
      return {};
    }
    if (last - first < 2)
      return {};
    const int middle = first + (last - first) / 2;
    DLC_TRY(learn(first, middle));
    return learn(middle, last);
  }

  Result<bool> importPart(const std::vector<int> &nodes,
                          const std::vector<std::string> &outputs,
                          int64_t batch, LearnedTypes &found) {
    DLC_ASSIGN(const auto bytes, parts.make(nodes, outputs));
    if (!bytes)
      return false;
    DLC_TRY(writeFileAtomically(path, *bytes));
    MLIRContext context(MLIRContext::Threading::DISABLED);
    ScopedDiagnosticHandler quiet(&context,
                                  [](Diagnostic &) { return success(); });
    ImportOptions options;
    options.otherwiseBatch = batch;
    options.dims = dims;
    auto model = importOnnx(context, path, options);
    if (!model.ok())
      return false;
    auto predict = model->module->lookupSymbol<func::FuncOp>("predict");
    for (unsigned i = 0; i < predict.getNumResults(); ++i) {
      auto type = dyn_cast<RankedTensorType>(predict.getResultTypes()[i]);
      auto name = predict.getResultAttrOfType<StringAttr>(i, "dlc.name");
      if (type && name)
        found[name.str()] = {toOnnxType(toDType(type.getElementType())),
                             type.getShape().vec()};
    }
    return true;
  }

  /// The declared element type may be narrower than dlc's.
  onnx::TypeProto typeOf(const std::string &name, const LearnedType &two,
                         const LearnedType &three) const {
    onnx::TypeProto type;
    auto &tensor = *type.mutable_tensor_type();
    const onnx::TypeProto *declared = parts.typeOf(name);
    tensor.set_elem_type(declared ? declared->tensor_type().elem_type()
                                  : two.element);
    tensor.mutable_shape();
    for (size_t i = 0; i < two.shape.size(); ++i) {
      auto &dim = *tensor.mutable_shape()->add_dim();
      const int64_t a = two.shape[i];
      const int64_t b = i < three.shape.size() ? three.shape[i] : a;
      if (a == b)
        dim.set_dim_value(a);
      else if (a / kBatches[0] * kBatches[1] == b && a % kBatches[0] == 0)
        dim.set_dim_param(
            a == kBatches[0]
                ? batchName()
                : fmt::format("{}*{}", a / kBatches[0], batchName()));
    }
    return type;
  }

  std::string batchName() const {
    for (const auto &input : parts.graph().input()) {
      const auto &shape = input.type().tensor_type().shape();
      if (shape.dim_size() > 0 && !shape.dim(0).dim_param().empty())
        return shape.dim(0).dim_param();
    }
    return "batch";
  }

  ModelParts &parts;
  const std::map<std::string, int64_t> &dims;
  const std::string path;
  std::set<std::string> used; // inputs of nodes, and outputs of the model
  LearnedTypes known;
  int imports = 0;
};

} // namespace

Status learnTypes(ModelParts &parts,
                  const std::map<std::string, int64_t> &dims) {
  DLC_ASSIGN(const TemporaryFolder folder,
             TemporaryFolder::create("dlc-types"));
  return TypeLearner(parts, dims, folder.path()).run();
}

} // namespace dlc::import
