// SPDX-License-Identifier: Apache-2.0
// What a model asks of the importer, before anything is imported.
#pragma once
#include "runtime/base/Status.h"
#include <map>
#include <string>
#include <vector>

namespace dlc::import {

/// An operator of the file's graph, of the graphs in its nodes (the bodies of
/// If, Loop and Scan), or one of a function's body that is missing.
struct OperatorUse {
  std::string name;               // "Conv", "com.microsoft.Gelu"
  std::vector<std::string> nodes; // as locations of the imported module say
  bool isMissing = false;         // no row imports it
  std::vector<std::string> aliases =
      {}; // other names of nodes that have bodies
  /// By node, where torch's newer exporter noted them: the modules around it,
  /// the outermost first, by their dotted names.
  std::map<std::string, std::vector<std::string>> modules = {};
};

/// "LOOP/NODE" for the location "LOOP[3]/NODE" of an iteration.
std::string withoutIterations(const std::string &node);

/// What a node is called in locations: its name, or operator and first result.
std::string labelOf(const std::string &name, const std::string &op,
                    const std::string &firstResult);

/// In the order of their first nodes; missing ones of functions at the end.
/// Code::BadModel, with the path, for what is no model.
/// `opLibraries`: see ImportOptions.
Result<std::vector<OperatorUse>>
surveyOnnx(const std::string &path, int64_t budget,
           const std::vector<std::string> &opLibraries);

} // namespace dlc::import
