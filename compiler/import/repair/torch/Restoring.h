// SPDX-License-Identifier: Apache-2.0
// Shared state of the repairs that restore the trained tensors of the source
// model, from torch's notes if the file has them, else from structure and
// values. Each change is a Decision; costs are linear in the size of the file.
#pragma once
#include "compiler/import/file/GraphEdit.h"
#include "compiler/import/file/TorchNotes.h"
#include "compiler/import/repair/merged/Copies.h"
#include "compiler/import/tensor/WeightStore.h"
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {

/// A tensor's name in the module, derived from names of nodes and biases.
struct ScopedName {
  std::string target;
  bool transposed = false;    // stored transposed in the file
  std::vector<int64_t> shape; // in the module, if the file reshaped it
  bool holdsNorm = false;     // a batch norm was folded into it
};

/// Which tensor of the source model a tensor of the file was.
struct Origin {
  std::string target;           // its name in the module; "" if folded
  bool buffer = false;          // target is a buffer
  bool filledIn = false;        // the source has no such tensor
  std::set<std::string> values; // folded values in the source: "expand_2"
  std::set<std::string> scopes; // modules that read it
  /// Its layout in the module, if the target is only known by scopes.
  std::optional<ScopedName> scoped;
};

/// The parameters that a value was folded from, according to the file.
struct FoldedSources {
  std::set<std::string> parameters; // by the module's names
  bool computes = false;            // also by operators that compute new values
  bool isPart = false;              // also by an operator that takes a part
};

/// An open graph and the facts found about its tensors so far.
struct Restoring {
  explicit Restoring(OnnxFile &file);

  OnnxFile &file;
  GraphEdit edit;
  TorchNotes notes;
  std::set<std::string> unnamed;         // parameters without nodes or a tensor
  std::map<std::string, Origin> origins; // of initializers that nodes read
  std::map<std::string, FoldedSources> sources; // of folded initializers
  /// Values that inputs of nodes read through an Identity, which was removed.
  std::map<std::pair<const onnx::NodeProto *, int>, std::string> through;
  std::set<const onnx::NodeProto *> dead;
  /// Inputs that the source detaches (findStops), in a set and in order.
  std::set<std::pair<const onnx::NodeProto *, int>> detached;
  std::vector<Use> stops;

  void decide(const std::string &tensor, const char *kind, std::string text,
              bool warn = false, const std::set<std::string> &of = {}) {
    file.decisions.push_back({tensor, kind, std::move(text), warn});
    file.decisions.back().of.assign(of.begin(), of.end());
  }
  /// A parameter of the source that the graph has under its name now.
  void settle(const std::string &parameter) {
    origins[parameter].target = parameter;
    unnamed.erase(parameter);
  }
  /// The unnamed parameters of modules that read a tensor.
  std::set<std::string> candidates(const Origin &origin) {
    return candidates(origin, unnamed);
  }
  std::set<std::string> candidates(const Origin &origin,
                                   const std::set<std::string> &among);
  /// Parameters in the file, of this shape, of modules that read a tensor.
  std::set<std::string> beside(const Origin &origin,
                               const std::vector<int64_t> &shape);
  /// Removes from `names` the weight and bias of modules that have both, except
  /// modules in `scopes`. Such a layer was applied to a constant and folded, or
  /// a norm was folded into its neighbour; neither is a parameter that was
  /// moved or repeated. Returns those of modules without running statistics.
  std::set<std::string> takeLayers(std::set<std::string> &names,
                                   const std::set<std::string> &scopes) const;
  /// A tool without notes fused nodes after the exporter.
  bool isFused() const;
  /// Charges the import's budget; false, and `problem`, if it is exhausted.
  bool spend(size_t steps);
  Status problem;

  /// Number of redirected inputs and of roles that were set.
  int places() const { return edit.changes() + int(file.roles.size()); }
  /// Sets roles, inserts the StopGradients and closes `edit`; the file's nodes
  /// become invalid.
  void close();
};

/// A repair of the open graph.
struct GraphRepair {
  explicit GraphRepair(Restoring &work) : work(work), edit(work.edit) {}
  Restoring &work;
  GraphEdit &edit;
};

/// StopGradients.cpp: finds inputs that the source reads through detach(), for
/// which ONNX has no operator, by torch's notes or by sums x + (q - x). Returns
/// their number.
int findStops(Restoring &work);
/// StopGradients.cpp: inserts an ai.dlc.StopGradient before each of them.
void stopGradients(Restoring &work);

/// KeepStatistics.cpp: finds batch norms in inference mode (`bn.eval()`) in a
/// file whose other batch norms train. A file without the latter was exported
/// for inference as a whole, and says nothing about training. Returns their
/// number.
int keepStatistics(Restoring &work);

/// Extrema.cpp: finds ReduceMax and ReduceMin nodes that are max(dim) and
/// min(dim), whose gradient PyTorch gives to one of equal elements, the one
/// with the index that they return; of amax and amin all get a share. Returns
/// their number.
int findIndexedExtrema(Restoring &work);

/// FoldedFrom.cpp: values whose folded sources the file records: those of no
/// parameter become constants, rows of a parameter become that parameter.
void settleFolded(Restoring &work);
/// merged/Untie.cpp: splits initializers that several source tensors share.
Status untieInitializers(Restoring &work);
/// merged/Untie.cpp: restores zero biases that an optimizer removed.
void restoreBiases(Restoring &work);

/// merged/PartCalls.cpp: splits norms and products that were merged because
/// their parameters were equal (a parallel residual's), or warns about them.
void partCalls(Restoring &work);

/// SourceNames.cpp: gives tensors that the source names differently, or has
/// transposed, the source's name and layout; replaces copies by the original
/// tensor.
void adoptParameters(Restoring &work);
/// Recurrent.cpp: replaces the packed W, R and B of recurrent layers by torch's
/// tensors and nodes that pack them.
void unpackRecurrent(Restoring &work);
/// merged/OneBias.cpp: keeps the zeros beside the one bias of a recurrent
/// layer, in files of other tools; warns if the bias is zeros, too.
void findOneBias(Restoring &work);
/// Slices of one parameter that an exporter folded into separate tensors.
struct Pieces {
  /// Tensors whose parameter has several such tensors in the file.
  std::set<std::string> several;
  /// Tensor -> a tensor that shares elements with it: another slice, or the
  /// parameter if the file has that too. Both must be trained together.
  std::map<std::string, std::string> overlapping;
};

/// merged/Pieces.cpp: finds initializers that FoldedSources describes as moved
/// elements of one parameter, as nodes read them now. Elements are compared by
/// their bits; numbers with few digits, and duplicates within a tensor, are not
/// evidence. Linear in the bytes compared, which are charged to the budget.
Pieces findPieces(Restoring &work);
/// merged/Unfold.cpp: replaces values folded from parameters by the parameter
/// and the computation; masks become constants.
void unfoldExpressions(Restoring &work);
/// merged/Separate.cpp: gives each module that reads one of `names` a separate
/// tensor (--untie: the weight's name, or one reader's). Code::Usage for a name
/// that is no weight of several modules.
Status separateTies(Restoring &work, const std::vector<std::string> &names);

/// merged/ConstantWeights.cpp.
/// Turns into initializers of the main graph:
/// - Constants of f32, f16, bf16 or f64 that findRoles would train as
///   initializers, or that are running statistics; the name is the output's;
/// - initializers of these types in subgraphs, trained or not; a name that is
///   not unique gets the node's name as prefix (separateNames).
/// Other Constants remain nodes: scalars, values that no layer reads as its
/// weight, a few values that a Gather selects from, narrow types, ones and
/// zeros of decomposed group norms; and all Constants of torch's exporters, if
/// the file has a trained initializer, as these store parameters so. Call this
/// before tensors are restored. Linear in the size of the file. A Constant that
/// cannot be read remains; the only error is Code::BadModel, over budget.
Status takeConstants(OnnxFile &file);
/// merged/CarriedWeights.cpp.
/// Makes bodies read the weights that their Loop or Scan carries unchanged.
/// Names are unique (separateNames). Linear in the size of the file.
Status readCarriedWeights(OnnxFile &file);
/// merged/FillWeights.cpp.
/// Turns a ConstantOfShape of floats and known shape into an initializer, so
/// that it is trained or updated, if its result is only used as weight or bias
/// of convolutions and products, or as an operand of batch norm. Errors
/// (Code::BadModel) are those of the budget.
Status fillWeights(OnnxFile &file);
/// NamesByValue.cpp, --names.
/// Renames and transposes a model's tensors to the names and layouts that a
/// .safetensors file has for the same values. If several names or several
/// tensors have equal values, they are a tie if there is one tensor or one name
/// for all, else they are unchanged. A summary is a remark of the file.
/// Code::BadModel if no tensor is found, Code::Corrupt for a damaged file,
/// Code::Usage for a file of another format.
Status nameByValue(Restoring &work, const std::string &path);
/// GiveBack.cpp.
/// Makes nodes of `file` read the file's own initializers again if these can be
/// computed from tensors of the program; others, such as parts of merged
/// tensors, stay as restoreParameters left them. Returns those initializers,
/// which the file's weights do not include. Linear in the size of the graph;
/// invalidates the file's `nodes`.
std::vector<Replaced> giveBack(OnnxFile &file);

/// The source's call computes with the transposed matrix, as aten.linear does,
/// but the node with the matrix itself.
bool isStoredTransposed(const TorchNotes &notes, const Use &use,
                        const Weight &weight);

/// A group or instance norm reads it as [C, 1, 1], but the module has [C].
bool isStoredPerChannel(const TorchNotes &notes, const Use &use,
                        const Weight &weight);

/// The name was generated by an exporter ("val_12", "onnx::Add_7", "expand_2");
/// it is not a module's.
bool isMadeUp(const TorchNotes &notes, const std::string &name);

/// "expand" for a value "expand_2" of the source; "" if it is not named after
/// an operator.
std::string operatorOf(const std::string &value);

/// Makes all readers of the initializer `name` read `source` arranged by `how`,
/// and records `name` in file.replaced, so that an export has it again.
void becomes(Restoring &work, const std::string &name,
             const std::string &source, const Arrangement &how);
/// `source` arranged by `how` as a value of the graph, by a new node if the
/// order differs.
std::string arranged(Restoring &work, const std::string &source,
                     const Arrangement &how, const std::string &copy);
/// Makes all uses of `from` read `to`.
void replaceUses(Restoring &work, const std::string &from,
                 const std::string &to);

/// The module of a node ("b.0.ln1"), from torch's notes or from the older
/// exporter's names "/b/b.0/ln1/Mul"; nullopt if unknown.
std::optional<std::string> moduleOf(const TorchNotes &notes,
                                    const onnx::NodeProto &node);

/// Finds names of parameters that torch's older exporter folded, from the
/// scopes in node names and from the bias added to a product. Only for tensors
/// with generated names; each query takes constant time.
class ScopeNames {
public:
  explicit ScopeNames(const Restoring &work);
  std::optional<ScopedName> find(const std::string &name, const Use &use,
                                 const Weight &weight) const;

private:
  std::optional<std::string> besideBias(const onnx::NodeProto &product,
                                        int64_t width) const;
  bool isSecondCall(const onnx::NodeProto &node,
                    const std::string &module) const;
  std::optional<std::string> ofOnlyNode(const onnx::NodeProto &node,
                                        const char *leaf) const;
  std::optional<ScopedName> ofConv(const std::string &name, const Use &use,
                                   const Weight &weight) const;
  std::optional<ScopedName> ofVector(const Use &use,
                                     const Weight &weight) const;

  const Restoring &work;
  std::unordered_map<std::string, int> nodes; // compute nodes by module
  std::map<std::pair<std::string, std::string>, int> ops; // op counts by module
  std::unordered_set<std::string> parents; // modules with children, parameters
  /// Modules that read a tensor as their weight, filled on the first query.
  mutable std::unordered_map<std::string, std::unordered_set<std::string>>
      callers;
};

/// Rewrite rule that folds a batch norm into the node (isRewritten).
inline constexpr std::string_view kFoldedNorm = "FuseBatchNormInto";
/// "b.0.ln.weight" -> "b.0.ln"
std::string parentOf(const std::string &name);
/// "ln_1" -> "ln": the second call of a module.
std::string withoutCount(const std::string &path);

} // namespace dlc::import
