// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/OnnxFile.h"
#include "compiler/import/file/Functions.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/SchemaCheck.h"
#include "compiler/import/guide/ForeignModel.h"
#include "compiler/import/tensor/TensorData.h"
#include "onnx-ml.pb.h"
#include "runtime/base/files/MappedFile.h"
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

namespace dlc::import {
namespace {

constexpr int kRecursionLimit = 100;

std::string tooLarge(const std::string &path, int64_t size) {
  const std::string foreign = foreignModel(path, "");
  if (!foreign.empty())
    return foreign;
  return fmt::format(
      "{} bytes is more than protobuf's limit of 2 GiB - 1; save "
      "the weights as external data",
      size);
}

Result<std::shared_ptr<MappedData>> mapModel(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == ENOENT)
    return failed("no such file");
  const int error = errno;
  struct stat info {};
  if (file < 0 && stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return badModel("{}, not a regular file; expected an ONNX model",
                    kindOfFile(info.st_mode));
  if (file < 0)
    return failed("cannot open: {}", std::strerror(error));
  fstat(file, &info);
  std::string wrong = S_ISREG(info.st_mode) ? "" : foreignModel(path, "");
  if (!wrong.empty())
    wrong = "not an ONNX model, but " + wrong;
  else if (!S_ISREG(info.st_mode))
    wrong = fmt::format("{}, not a regular file; expected an ONNX model",
                        kindOfFile(info.st_mode));
  else if (info.st_size == 0)
    wrong = "the file is empty; expected an ONNX model";
  else if (info.st_size > std::numeric_limits<int32_t>::max())
    wrong = tooLarge(path, info.st_size);
  if (!wrong.empty()) {
    close(file);
    return badModel("{}", wrong);
  }
  return MappedData::map(file, info.st_size, path);
}

/// Whether the file starts like text, for the error message.
bool looksLikeText(std::string_view bytes) {
  auto head = bytes.substr(0, 64);
  return std::all_of(head.begin(), head.end(), [](unsigned char c) {
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
}

Status notOnnx(const std::string &path, std::string_view bytes) {
  const std::string foreign = foreignModel(path, bytes);
  if (!foreign.empty())
    return badModel("{}", foreign);
  if (looksLikeText(bytes)) {
    auto head = bytes.substr(0, std::min<size_t>(24, bytes.find('\n')));
    return badModel("not an ONNX model: a text file that starts with \"{}\"",
                    head);
  }
  return badModel("not a complete ONNX model: the {} bytes do not parse "
                  "(truncated, corrupt, nested deeper than {} or another "
                  "format)",
                  bytes.size(), kRecursionLimit);
}

Status checkVersions(const onnx::ModelProto &model) {
  if (model.ir_version() < kOldestIr || model.ir_version() > kNewestIr)
    return badModel("IR version {}, expected {} to {}", model.ir_version(),
                    kOldestIr, kNewestIr);
  return Status();
}

Result<int64_t> opsetOf(const onnx::ModelProto &model) {
  std::optional<int64_t> version;
  for (const auto &opset : model.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx")
      continue;
    if (version && *version != opset.version())
      return badModel("opsets {} and {} of ai.onnx are both imported, expected "
                      "one",
                      *version, opset.version());
    version = opset.version();
  }
  const bool isNeeded = std::ranges::any_of(model.graph().node(), isCore);
  if (!version && !isNeeded)
    return kNewestOpset;
  if (!version)
    return badModel("no opset of ai.onnx is imported, expected {} to {}",
                    kOldestOpset, kNewestOpset);
  if (*version < kOldestOpset)
    return badModel("opset {} is older than {}; export again with a newer "
                    "opset or use onnx.version_converter",
                    *version, kOldestOpset);
  if (*version > kNewestOpset)
    return badModel("opset {} is newer than {}, the newest that dlc knows",
                    *version, kNewestOpset);
  return *version;
}

Status addWeights(OnnxFile &file) {
  const auto &graph = file.model->graph();
  if (graph.sparse_initializer_size())
    return badModel("sparse initializer '{}' is not supported",
                    graph.sparse_initializer(0).values().name());
  ExternalData external(file.path, file.budget);
  file.weights.keep(file.model);
  for (const auto &tensor : graph.initializer())
    DLC_TRY(addTensor(tensor, tensor.name(), external, file.weights));
  return Status();
}

Status check(OnnxFile &file) {
  DLC_ASSIGN(file.opset, opsetOf(*file.model));
  DLC_TRY(checkNames(*file.model));
  DLC_TRY(inlineFunctions(*file.model, file.budget));
  DLC_TRY(checkNameLengths(file.model->graph()));
  DLC_TRY(checkNodes(file.model->graph(), file.opset));
  DLC_ASSIGN(file.nodes, sortedNodes(file.model->graph()));
  return addWeights(file);
}

Result<std::shared_ptr<onnx::ModelProto>> parse(const std::string &path,
                                                Budget &budget) {
  DLC_ASSIGN(auto file, mapModel(path));
  std::string_view bytes = file->bytes();
  budget.grow(bytes.size());
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  stream.SetRecursionLimit(kRecursionLimit);
  auto model = std::make_shared<onnx::ModelProto>();
  if (!model->ParseFromCodedStream(&stream) ||
      !stream.ConsumedEntireMessage() || !model->has_graph())
    return notOnnx(path, bytes);
  DLC_TRY(checkVersions(*model));
  return model;
}

} // namespace

Result<std::shared_ptr<onnx::ModelProto>> parseOnnx(const std::string &path) {
  Budget budget;
  return parse(path, budget).withContext(path);
}

std::map<std::string, std::vector<std::string>>
namesOfWeights(const OnnxFile &file) {
  std::map<std::string, std::vector<std::string>> names;
  for (const auto &[name, weight] : file.weights.all())
    names[name] = {name};
  for (const auto &[second, name] : file.aliases)
    if (auto it = names.find(name); it != names.end() && !names.count(second))
      it->second.push_back(second);
  return names;
}

Result<OnnxFile> loadOnnx(const std::string &path, Budget budget) {
  OnnxFile file;
  file.path = path;
  file.budget = std::move(budget);
  auto load = [&]() -> Status {
    DLC_ASSIGN(file.model, parse(path, file.budget));
    return check(file);
  };
  DLC_TRY(load().withContext(path));
  return file;
}

} // namespace dlc::import
