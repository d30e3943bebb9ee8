// SPDX-License-Identifier: Apache-2.0
// Which of a model's outputs metrics judge, by which labels: scores.json of an
// artifact, written by the compiler.
#pragma once

#include "runtime/plan/Artifact.h"

#include <optional>
#include <string>

namespace dlc {

// binary: a number a row, 0 or 1 beside it; labels: several of these, each by
// itself; classes: a score for each class and the number of one; values:
// numbers beside numbers.
enum class Task { Binary, Labels, Classes, Values };
std::string_view nameOf(Task task); // "binary", "multilabel", ...

struct Scores {
  Task task = Task::Classes;
  std::string output, labels;                // of predict; key in the data
  int64_t outer = 1, classes = 1, inner = 1; // elements of a sample's output
  std::optional<int64_t> ignored;            // label of rows that do not count
  bool probabilities = false;                // else logits, or their logarithms
  int port = 0;                              // of predict's outputs

  int64_t rows() const { return outer * inner; } // of a sample
  int64_t elements() const { return rows() * classes; }
};

// Of samples of this size of the model's.
// Code::Usage for a model whose loss says nothing of its outputs, which `asks`
// needs; Code::Corrupt for a damaged file.
Result<Scores> readScores(const Artifact &artifact, int size = 0,
                          std::string_view asks = "--metrics");

} // namespace dlc
