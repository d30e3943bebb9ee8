// SPDX-License-Identifier: Apache-2.0
// What the repairs of a file's tensors share: by torch's notes where the file
// has them and by structure and value elsewhere, the trained tensors are those
// of the source model again. Each change is a Decision; costs are linear in the
// size of the file.
#pragma once
#include "compiler/import/file/GraphEdit.h"
#include "compiler/import/file/TorchNotes.h"
#include "compiler/import/repair/merged/Copies.h"
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {

/// What the names of nodes and biases say of a tensor.
struct ScopedName {
  std::string target;
  bool transposed = false;    // the file has it so
  std::vector<int64_t> shape; // of the module's, where the file reshaped it
  bool holdsNorm = false;     // a batch norm was folded into it
};

/// What a tensor of the file was in the source model.
struct Origin {
  std::string target;           // the module's name of it; "" if folded
  bool buffer = false;          // target is a buffer
  bool filledIn = false;        // the source has none there
  std::set<std::string> values; // folded values of the source: "expand_2"
  std::set<std::string> scopes; // modules that read it
  /// Where the target is known by scopes alone: how the module has it.
  std::optional<ScopedName> scoped;
};

/// What the file says that a value was folded from.
struct FoldedSources {
  std::set<std::string> parameters; // by the module's names
  bool computes = false; // not only by operators that move, repeat or create
  bool isPart = false;   // by one that cuts something in parts
};

/// An open graph and what is known of its tensors; each repair adds to it.
struct Restoring {
  explicit Restoring(OnnxFile &file);

  OnnxFile &file;
  GraphEdit edit;
  TorchNotes notes;
  std::set<std::string> unnamed; // parameters that no node names, not yet found
  std::map<std::string, Origin> origins; // of initializers that nodes read
  std::map<std::string, FoldedSources> sources; // of those that were folded
  /// What inputs of nodes were that went through an Identity, which is dead.
  std::map<std::pair<const onnx::NodeProto *, int>, std::string> through;
  std::set<const onnx::NodeProto *> dead;
  /// Inputs of nodes that the source detaches (findStops), in a set and in
  /// order.
  std::set<std::pair<const onnx::NodeProto *, int>> detached;
  std::vector<Use> stops;

  void decide(const std::string &tensor, const char *kind, std::string text,
              bool warn = false, const std::set<std::string> &of = {}) {
    file.decisions.push_back({tensor, kind, std::move(text), warn});
    file.decisions.back().of.assign(of.begin(), of.end());
  }
  /// The unnamed parameters of the modules that read a tensor.
  std::set<std::string> candidates(const Origin &origin) {
    return candidates(origin, unnamed);
  }
  std::set<std::string> candidates(const Origin &origin,
                                   const std::set<std::string> &among);
  /// Parameters in the file, of that shape, of the modules that read a tensor.
  std::set<std::string> beside(const Origin &origin,
                               const std::vector<int64_t> &shape);
  /// A tool that keeps no notes fused nodes after the exporter.
  bool isFused() const;
  /// Charges the import's budget; false, and `problem`, once it is used up.
  bool spend(size_t steps);
  Status problem;

  /// Inputs of nodes that were redirected, and roles that were settled.
  int places() const { return edit.changes() + int(file.roles.size()); }
  /// Settles roles, puts the stops in place and closes `edit`; the file's nodes
  /// are stale.
  void close();
};

/// StopGradients.cpp: inputs of nodes that the source reads through a detach(),
/// which ONNX does not have: torch's notes say so, or a sum x + (q - x) does.
/// Returns how many.
int findStops(Restoring &work);
/// StopGradients.cpp: puts an ai.dlc.StopGradient before each of them.
void stopGradients(Restoring &work);

/// FoldedFrom.cpp: values of which the file says what they were folded from:
/// those of no parameter become constants, rows of a parameter that parameter.
void settleFolded(Restoring &work);
/// merged/Untie.cpp: one initializer for each tensor of the source.
Status untieInitializers(Restoring &work);
/// merged/Untie.cpp: biases of zeros that an optimizer took from Conv and Gemm.
void restoreBiases(Restoring &work);

/// merged/PartCalls.cpp: norms and products of one value that had equal
/// parameters (a parallel residual's) are two again, or a warning names them.
void partCalls(Restoring &work);

/// SourceNames.cpp: tensors that the source has under another name, or
/// transposed, become the source's; copies of another tensor become that
/// tensor.
void adoptParameters(Restoring &work);
/// Recurrent.cpp: the packs W, R and B of recurrent layers become torch's
/// tensors and the packing.
void unpackRecurrent(Restoring &work);
/// merged/Unfold.cpp: values that were computed from parameters when the file
/// was made become the parameter and the computation; masks become constants.
void unfoldExpressions(Restoring &work);
/// merged/Separate.cpp: a tensor of its own for each module that reads one of
/// `names` (--untie: of the weight itself, or of one reader's). Code::Usage for
/// a name that no weight of several modules has.
Status separateTies(Restoring &work, const std::vector<std::string> &names);

/// The call of the source computes with the transposed matrix, as aten.linear
/// does, and the node with the matrix itself.
bool isStoredTransposed(const TorchNotes &notes, const Use &use,
                        const Weight &weight);

/// A norm of groups or instances reads it as [C, 1, 1]; the module has [C].
bool isStoredPerChannel(const TorchNotes &notes, const Use &use,
                        const Weight &weight);

/// The elements of a matrix, turned.
std::string transposedBytes(const Weight &matrix);

/// The name is an exporter's ("val_12", "onnx::Add_7", "expand_2") and not a
/// module's.
bool isMadeUp(const TorchNotes &notes, const std::string &name);

/// "expand" for a value "expand_2" of the source; "" if it is not named after
/// an operator.
std::string operatorOf(const std::string &value);

/// Whose file has the initializer `name` as `how` of `source` reads that from
/// now on; the export has `name` again.
void becomes(Restoring &work, const std::string &name,
             const std::string &source, const Arrangement &how);
/// The values that make `copy` of `source`, as a value of the graph: a new node
/// if they are arranged otherwise.
std::string arranged(Restoring &work, const std::string &source,
                     const Arrangement &how, const std::string &copy);
/// All uses of `from` read `to` from now on.
void replaceUses(Restoring &work, const std::string &from,
                 const std::string &to);

/// The module that a node belongs to: "b.0.ln1"; nothing if the file does not
/// say. From torch's notes or the older exporter's names "/b/b.0/ln1/Mul".
std::optional<std::string> moduleOf(const TorchNotes &notes,
                                    const onnx::NodeProto &node);

/// Names of parameters that torch's older exporter folded: from the scopes in
/// its nodes' names, and from the bias that is added behind a product. Only of
/// tensors with made-up names; each query takes constant time.
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
  std::unordered_map<std::string, int> nodes; // of a module, that compute
  std::map<std::pair<std::string, std::string>, int> ops; // of a module
  std::unordered_set<std::string> parents; // modules with modules or parameters
  /// The modules that read a tensor as their weight, once one has asked.
  mutable std::unordered_map<std::string, std::unordered_set<std::string>>
      callers;
};

/// torch's notes say that a batch norm was folded into it.
bool holdsNorm(const onnx::NodeProto &node);
/// "b.0.ln.weight" -> "b.0.ln"
std::string parentOf(const std::string &name);
/// "ln_1" -> "ln": the second call of a module.
std::string withoutCount(const std::string &path);

/// All elements of a float tensor are equal: bit for bit, or zeros.
bool isSplat(const Weight &weight);

} // namespace dlc::import
