// The parts of restoreParameters, and what they share.
#pragma once
#include "compiler/import/file/GraphEdit.h"
#include "compiler/import/restore/Copies.h"
#include "compiler/import/restore/TorchNotes.h"
#include <map>
#include <set>

namespace dlc::import {

/// What a tensor of the file was in the source model.
struct Origin {
  std::string target;           // the module's name of it; "" if folded
  bool buffer = false;          // target is a buffer
  std::set<std::string> values; // folded values of the source: "expand_2"
  std::set<std::string> scopes; // modules that read it
};

/// The parts of the work; each adds to the same state.
struct Restoring {
  explicit Restoring(OnnxFile &file);

  OnnxFile &file;
  GraphEdit edit;
  TorchNotes notes;
  std::set<std::string> unnamed; // parameters that no node names, not yet found
  std::map<std::string, Origin> origins; // of initializers that nodes read

  void decide(const std::string &tensor, const char *kind, std::string text,
              bool warn = false) {
    file.decisions.push_back({tensor, kind, std::move(text), warn});
  }
  /// The unnamed parameters of the modules that read a tensor.
  std::set<std::string> candidates(const Origin &origin);
  /// Charges the import's budget; false, and `problem`, once it is used up.
  bool spend(size_t steps);
  Status problem;
};

/// FoldedFrom.cpp: values of which the file says what they were folded from:
/// those of no parameter become constants, rows of a parameter that parameter.
void settleFolded(Restoring &work);
/// Untie.cpp: one initializer for each tensor of the source.
Status untieInitializers(Restoring &work);
/// Untie.cpp: biases of zeros that an optimizer took from Conv and Gemm.
void restoreBiases(Restoring &work);

/// Adopt.cpp: tensors that the source has under another name, or transposed,
/// become the source's; copies of another tensor become that tensor.
void adoptParameters(Restoring &work);
/// Unfold.cpp: values that were computed from parameters when the file was
/// made become the parameter and the computation; masks become constants.
void unfoldExpressions(Restoring &work);

/// The name is an exporter's ("val_12", "onnx::Add_7", "expand_2") and not a
/// module's.
bool isMadeUp(const TorchNotes &notes, const std::string &name);

/// "expand" for a value "expand_2" of the source; "" if it is not named after
/// an operator.
std::string operatorOf(const std::string &value);

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

/// All elements of a float tensor are equal: bit for bit, or zeros.
bool isSplat(const Weight &weight);

} // namespace dlc::import
