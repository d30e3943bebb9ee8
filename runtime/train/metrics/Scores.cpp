// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/Scores.h"

#include "runtime/base/files/Files.h"
#include "runtime/plan/Ports.h"
#include "runtime/plan/Types.h"
#include "runtime/train/session/Inputs.h"

namespace dlc {
namespace {

constexpr char kFile[] = "scores.json";

Result<Task> taskOf(const std::string &name) {
  if (name == "classes")
    return Task::Classes;
  if (name == "binary")
    return Task::Binary;
  if (name == "values")
    return Task::Values;
  return corrupt("'{}' is not one of classes, binary, values", name);
}

// Sizes of a sample's output before, along and after the class axis.
Status findExtents(const plan::Plan &plan, int size, int64_t axis,
                   Scores &scores) {
  const plan::Program *predict = plan::findProgram(plan, "predict", size);
  scores.port = predict ? findOutput(*predict, scores.output) : -1;
  if (scores.port < 0)
    return corrupt("the model has no output '{}'", scores.output);
  const plan::Port &port = predict->outputs(scores.port);
  const auto &shape = portType(*predict, port).shape();
  if (!plan::isPrediction(plan, *predict, port) || axis >= shape.size())
    return corrupt("output '{}' has no row for each sample, or no axis {}",
                   scores.output, axis);
  scores.outer = shape[0] / plan::batchOf(plan, size);
  for (int d = 1; d < shape.size(); ++d)
    (axis < 0 || d < axis || scores.task == Task::Values ? scores.outer
     : d == axis                                         ? scores.classes
                 : scores.inner) *= shape[d];
  return {};
}

Result<Scores> scoresOf(const Artifact &artifact, int size) {
  DLC_ASSIGN(const std::string text,
             readFile(artifact.filePath(kFile), 1 << 20));
  DLC_ASSIGN(const Json json, parseJson(text));
  Scores scores;
  DLC_ASSIGN(scores.output, jsonString(json, "output"));
  DLC_ASSIGN(scores.labels, jsonString(json, "labels"));
  DLC_ASSIGN(const std::string task, jsonString(json, "task"));
  const auto axis = json.find("axis"), ignored = json.find("ignore"),
             probabilities = json.find("probabilities");
  if (axis == json.end() || !axis->is_number_integer() ||
      ignored == json.end() ||
      !(ignored->is_null() || ignored->is_number_integer()) ||
      probabilities == json.end() || !probabilities->is_boolean())
    return corrupt("expected numbers 'axis' and 'ignore' and a truth value "
                   "'probabilities'");
  if (!ignored->is_null())
    scores.ignored = ignored->get<int64_t>();
  scores.probabilities = probabilities->get<bool>();
  DLC_ASSIGN(scores.task, taskOf(task));
  DLC_TRY(findExtents(artifact.plan(), size, axis->get<int64_t>(), scores));
  if (scores.task == Task::Binary && scores.classes > 1)
    scores.task = Task::Labels;
  return scores;
}

} // namespace

std::string_view nameOf(Task task) {
  constexpr std::string_view kNames[] = {"binary", "multilabel", "multiclass",
                                         "regression"};
  return kNames[size_t(task)];
}

Result<Scores> readScores(const Artifact &artifact, int size,
                          std::string_view asks) {
  if (!artifact.has(kFile))
    return usageError("'{}': {} needs a loss of class numbers, of 0 and "
                      "1, or of values (--loss=cross_entropy, nll, focal, "
                      "dice, bce, binary_focal, mse, l1, smooth_l1, huber) on "
                      "an output; this model has --loss={}, by which no output "
                      "can be judged, or was compiled by an older dlc",
                      artifact.path(), asks, artifact.plan().loss());
  return scoresOf(artifact, size).withContext("'{}'", artifact.filePath(kFile));
}

} // namespace dlc
