// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/bind/BindInputs.h"
#include "compiler/import/bind/DimExpression.h"
#include "compiler/import/rows/Rows.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <cmath>
#include <fmt/ranges.h>
#include <set>
#include <span>

namespace dlc::import {
namespace {

class Binder {
public:
  Binder(const OnnxFile &file, const ImportOptions &options,
         mlir::MLIRContext &context)
      : file(file), options(options), context(context) {}

  Result<GraphInputs> run() {
    std::vector<const onnx::ValueInfoProto *> given;
    for (const auto &input : file.model->graph().input())
      if (!file.weights.find(input.name()))
        given.push_back(&input);
    areAllEmpty =
        llvm::all_of(given, [](auto *input) { return isEmpty(*input); });
    findBatchNames(given);
    chooseBatch(given);
    GraphInputs inputs;
    inputs.exportedBatch = fixedBatch;
    DLC_TRY(checkNames(given));
    for (const auto *input : given) {
      DLC_ASSIGN(auto type, bind(*input));
      const auto fixed = options.fixedInputs.find(input->name());
      if (fixed != options.fixedInputs.end()) {
        DLC_TRY(checkFixed(*fixed, type));
        inputs.known.push_back({input->name(), type, fixed->second});
        continue;
      }
      if (llvm::is_contained(type.getShape(), 0)) {
        inputs.known.push_back({input->name(), type});
        continue;
      }
      inputs.all.push_back({input->name(), type});
      if (isRebatched(*input))
        inputs.rebatched.push_back(input->name());
      if (type.getRank() > 0 && type.getDimSize(0) == batch)
        inputs.batch = *batch;
    }
    // With a batch of 1, a sample is the whole input.
    if (options.batch.value_or(1) > 1 && !takesBatch && !insteadOfBatch.empty())
      return usageError("--batch={} and --dim {} bind the same dimension; give "
                        "one of them",
                        *options.batch, insteadOfBatch);
    for (const auto &[name, value] : options.dims)
      if (!used.count(name))
        return usageError("--dim {}={}: no input has a dimension of "
                          "that name, or an unknown one at that place "
                          "(INPUT.AXIS)",
                          name, value);
    return inputs;
  }

private:
  using Dimension = onnx::TensorShapeProto::Dimension;

  Status checkNames(std::span<const onnx::ValueInfoProto *const> inputs) const {
    for (const auto &[name, number] : options.fixedInputs)
      if (llvm::none_of(inputs, [&](auto *i) { return i->name() == name; })) {
        std::vector<std::string> names;
        for (const auto *input : inputs)
          names.push_back(printable(input->name()));
        return usageError("--fix-input {}={}: the model has no input of that "
                          "name, found {}",
                          name, number, fmt::join(names, ", "));
      }
    return {};
  }
  static Status checkFixed(const std::pair<const std::string, double> &fixed,
                           mlir::RankedTensorType type) {
    constexpr int64_t kMostElements = 1 << 16;
    const auto &[name, number] = fixed;
    if (type.getNumElements() > kMostElements)
      return usageError("--fix-input {}={}: the input has {} elements, "
                        "expected at most {}",
                        name, number, type.getNumElements(), kMostElements);
    const mlir::Type element = type.getElementType();
    if (element.isInteger() && number != std::trunc(number))
      return usageError("--fix-input {}={}: the input has integers", name,
                        number);
    if (element.isInteger(1) && number != 0 && number != 1)
      return usageError("--fix-input {}={}: the input has booleans, expected "
                        "0 or 1",
                        name, number);
    return {};
  }

  /// Whether the file fixes the dimension. Paddle and OpenVINO write -1 or 0
  /// for unknown sizes; in a model with data not all inputs have a 0.
  bool isKnown(const Dimension &dim, const std::string &place) const {
    return dim.has_dim_value() &&
           (dim.dim_value() > 0 || (dim.dim_value() == 0 && !areAllEmpty &&
                                    !options.dims.count(place)));
  }
  /// Name of an unnamed dimension in --dim.
  static std::string placeOf(const std::string &input, int index) {
    return fmt::format("{}.{}", input, index);
  }

  /// The --dim binding of a dimension, by its position or else by its name.
  std::map<std::string, int64_t>::const_iterator
  boundBy(const std::string &place, const std::string &name) const {
    const auto it = options.dims.find(place);
    return it != options.dims.end() ? it : options.dims.find(name);
  }

  /// Exporters choose any name, such as s77: the name of the first symbolic
  /// first dimension also means the batch elsewhere.
  void findBatchNames(std::span<const onnx::ValueInfoProto *const> inputs) {
    for (const auto *input : inputs)
      if (const auto &dims = input->type().tensor_type().shape().dim();
          !dims.empty() && !dims[0].dim_param().empty()) {
        batchNames.insert(dims[0].dim_param());
        return;
      }
  }
  /// Whether a symbolic dimension is the batch.
  bool isBatchDim(int index, const std::string &name) const {
    return index == 0 || batchNames.count(name) > 0;
  }

  /// Options bind a symbolic first dimension. If there is none, the exported
  /// batch is that of the first input, or of the first input that an option
  /// names; a different option changes it.
  void chooseBatch(std::span<const onnx::ValueInfoProto *const> inputs) {
    const onnx::ValueInfoProto *first = nullptr;
    bool isOne = false;
    batch = options.batch ? options.batch : options.otherwiseBatch;
    for (const auto *input : inputs) {
      const auto &dims = input->type().tensor_type().shape().dim();
      for (int i = 0; i < dims.size(); ++i) {
        const std::string &name = dims[i].dim_param(),
                          place = placeOf(input->name(), i);
        if (isKnown(dims[i], place) || !isBatchDim(i, name))
          continue;
        if (const auto bound = boundBy(place, name);
            bound != options.dims.end() && !options.batch)
          batch = bound->second;
        return;
      }
      if (!first && !dims.empty() && !isEmpty(*input))
        first = input;
      isOne |= !dims.empty() && dims[0].dim_value() == options.batch;
    }
    if (!first || isOne)
      return;
    const int64_t value = firstDim(*first);
    if (options.batch && value > 0)
      fixedBatch = value;
    else
      batch = value;
  }
  bool isRebatched(const onnx::ValueInfoProto &input) const {
    return fixedBatch > 0 && input.type().tensor_type().shape().dim_size() &&
           firstDim(input) == fixedBatch;
  }
  static bool isEmpty(const onnx::ValueInfoProto &input) {
    return llvm::any_of(input.type().tensor_type().shape().dim(),
                        [](const auto &dim) {
                          return dim.has_dim_value() && dim.dim_value() == 0;
                        });
  }
  static int64_t firstDim(const onnx::ValueInfoProto &input) {
    return input.type().tensor_type().shape().dim(0).dim_value();
  }

  Result<mlir::RankedTensorType> bind(const onnx::ValueInfoProto &input) {
    const auto &tensor = input.type().tensor_type();
    if (!input.type().has_tensor_type() || !tensor.has_shape())
      return badModel("input '{}' is not a tensor with a known rank",
                      input.name());
    auto dtype = toDType(tensor.elem_type());
    if (!dtype)
      return badModel("input '{}': data type {} is not supported", input.name(),
                      onnxTypeName(tensor.elem_type()));
    Shape shape;
    for (int i = 0; i < tensor.shape().dim_size(); ++i) {
      DLC_ASSIGN(auto dim, bindDim(input.name(), tensor.shape().dim(i), i));
      shape.push_back(dim);
    }
    if (isRebatched(input))
      shape[0] = *batch;
    DLC_TRY(
        countElements(shape, fmt::format("input '{}'", input.name())).status());
    return mlir::RankedTensorType::get(shape, toMlir(*dtype, &context));
  }

  Result<int64_t> bindDim(const std::string &input, const Dimension &dim,
                          int index) {
    const std::string &name = dim.dim_param(), place = placeOf(input, index);
    if (isKnown(dim, place)) {
      takesBatch |= !index && (fixedBatch || dim.dim_value() == batch);
      return dim.dim_value();
    }
    if (const auto bound = boundBy(place, name); bound != options.dims.end()) {
      const auto other = options.dims.find(name);
      if (other != options.dims.end() && other->second != bound->second)
        return badModel("input '{}': --dim {}={} and --dim {}={} bind the same "
                        "dimension {}; give one of them",
                        input, place, bound->second, name, other->second,
                        index);
      used.insert({place, name});
      if (bound->second == batch)
        takesBatch = true;
      else if (isBatchDim(index, name) && insteadOfBatch.empty())
        insteadOfBatch = fmt::format("{}={}", bound->first, bound->second);
      return bound->second;
    }
    if (batch && isBatchDim(index, name)) {
      takesBatch = true;
      return *batch;
    }
    if (isBatchDim(index, name))
      return badModel("input '{}': dimension {} ('{}') is symbolic; bind it "
                      "with --batch=N or --dim {}=N",
                      input, index, name, name.empty() ? place : name);
    if (name.empty())
      return badModel("input '{}': dimension {} is neither a number nor named; "
                      "bind it with --dim {}=N",
                      input, index, place);
    if (const auto names = namesInDimension(name); !names.empty())
      return bindExpression(input, name, index, names);
    return badModel("input '{}': dimension {} ('{}') is symbolic; bind it with "
                    "--dim {}=N",
                    input, index, name, name);
  }

  /// Value of a bound name, from its option or as the batch.
  std::optional<int64_t> valueOf(const std::string &name) {
    if (auto it = options.dims.find(name); it != options.dims.end()) {
      used.insert(name);
      return it->second;
    }
    takesBatch |= batchNames.count(name) > 0;
    return batchNames.count(name) ? batch : std::nullopt;
  }

  Result<int64_t> bindExpression(const std::string &input,
                                 const std::string &text, int index,
                                 const std::vector<std::string> &names) {
    std::string missing, values;
    for (const std::string &name : names)
      if (auto value = valueOf(name))
        values +=
            fmt::format("{}{}={}", values.empty() ? "" : ", ", name, *value);
      else
        missing += fmt::format(" --dim {}=N", name);
    if (!missing.empty())
      return badModel("input '{}': dimension {} ('{}') is symbolic; bind it "
                      "with{}",
                      input, index, text, missing);
    auto size = dimensionOf(
        text, [&](const std::string &name) { return valueOf(name); });
    if (!size)
      return badModel("input '{}': dimension {}: {}, with {}; bind it with "
                      "other numbers, or by itself with --dim '{}=N'",
                      input, index, size.status().message(), values, text);
    return size;
  }

  const OnnxFile &file;
  const ImportOptions &options;
  mlir::MLIRContext &context;
  std::set<std::string> used;
  std::set<std::string> batchNames = {"batch", "batch_size", "N"};
  std::optional<int64_t> batch;
  bool areAllEmpty = false;
  bool takesBatch = false;    // a dimension is the batch
  std::string insteadOfBatch; // NAME=N of --dim for a first dimension
  int64_t fixedBatch = 0;     // in the file, if `batch` differs; else 0
};

} // namespace

Result<GraphInputs> bindInputs(const OnnxFile &file,
                               const ImportOptions &options,
                               mlir::MLIRContext &context) {
  return Binder(file, options, context).run();
}

HostTensor valueOfKnown(const GraphInput &input) {
  HostTensor value(toDType(input.type.getElementType()),
                   Shape(input.type.getShape()));
  for (int64_t i = 0; i < value.elements(); ++i)
    if (value.holdsFloats())
      value.setNumber(i, input.number);
    else
      value.setInteger(i, int64_t(input.number));
  return value;
}

std::vector<std::string> remarksOn(const GraphInputs &inputs) {
  std::vector<std::string> shared, empty, fixed, remarks;
  if (!inputs.rebatched.empty())
    remarks.push_back(fmt::format(
        "the file fixes the batch at {}, --batch={} changes it; constants that "
        "the source computed from the batch do not change",
        inputs.exportedBatch, inputs.batch));
  for (const GraphInput &input : inputs.all)
    if (input.type.getRank() == 0 || input.type.getDimSize(0) != inputs.batch)
      shared.push_back("'" + printable(input.name) + "'");
  for (const GraphInput &input : inputs.known)
    (input.type.getNumElements() ? fixed : empty)
        .push_back("'" + printable(input.name) + "'");
  auto say = [&](const std::vector<std::string> &names, const char *one,
                 const char *several) {
    if (!names.empty())
      remarks.push_back(fmt::format("{}: {}", names.size() > 1 ? several : one,
                                    fmt::join(names, ", ")));
  };
  const bool areTensors = llvm::any_of(
      inputs.all, [](auto &input) { return input.type.getRank() > 0; });
  if (inputs.batch == 1 && areTensors && shared.size() == inputs.all.size())
    say(shared, "a sample is the whole input", "a sample is all of the inputs");
  else
    say(shared, "an input is the same for all samples",
        "inputs that are the same for all samples");
  say(empty, "an input without elements is none of the data's",
      "inputs without elements are none of the data's");
  say(fixed, "an input is fixed, and none of the data's",
      "inputs are fixed, and none of the data's");
  return remarks;
}

} // namespace dlc::import
