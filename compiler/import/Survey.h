// SPDX-License-Identifier: Apache-2.0
// Lists the operators of a model before it is imported.
#pragma once
#include "runtime/base/Status.h"
#include <map>
#include <string>
#include <vector>

namespace dlc::import {

/// An operator of the file's graph, of the subgraphs of its nodes (bodies of
/// If, Loop and Scan), or an unsupported one of a function's body.
struct OperatorUse {
  std::string name;               // "Conv", "com.microsoft.Gelu"
  std::vector<std::string> nodes; // names used in the module's locations
  bool isMissing = false;         // no row imports it
  std::vector<std::string> aliases =
      {}; // further names of nodes that have bodies
  /// Enclosing modules by node, outermost first, as dotted names, if torch's
  /// dynamo exporter recorded them.
  std::map<std::string, std::vector<std::string>> modules = {};
};

/// "LOOP/NODE" for the location "LOOP[3]/NODE" of an iteration.
std::string withoutIterations(const std::string &node);

/// A node's label in locations: its name, or its operator and first result.
std::string labelOf(const std::string &name, const std::string &op,
                    const std::string &firstResult);

/// Operators in the order of their first nodes; unsupported ones of functions
/// come last. Code::BadModel, with the path, if the file is not a model.
/// `opLibraries`: see ImportOptions.
Result<std::vector<OperatorUse>>
surveyOnnx(const std::string &path, int64_t budget,
           const std::vector<std::string> &opLibraries);

} // namespace dlc::import
