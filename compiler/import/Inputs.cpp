#include "compiler/import/Inputs.h"
#include "compiler/import/rows/Rows.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/TensorData.h"
#include "onnx-ml.pb.h"
#include <set>

namespace dlc::import {
namespace {

bool isBatchName(const std::string &name) {
  return name == "batch" || name == "batch_size" || name == "N";
}

class Binder {
public:
  Binder(const OnnxFile &file, const ImportOptions &options,
         mlir::MLIRContext &context)
      : file(file), options(options), context(context) {}

  Result<std::vector<GraphInput>> run() {
    std::vector<GraphInput> inputs;
    for (const auto &input : file.model->graph().input()) {
      if (file.weights.find(input.name()))
        continue;
      DLC_ASSIGN(auto type, bind(input));
      inputs.push_back({input.name(), type});
    }
    for (const auto &[name, value] : options.dims)
      if (!used.count(name))
        return usageError("--dim {}={}: no input has a dimension of "
                          "that name",
                          name, value);
    return inputs;
  }

private:
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
    auto count = countElements(shape, fmt::format("input '{}'", input.name()));
    if (!count.ok())
      return count.status();
    return mlir::RankedTensorType::get(shape, toMlir(*dtype, &context));
  }

  Result<int64_t> bindDim(const std::string &input,
                          const onnx::TensorShapeProto::Dimension &dim,
                          int index) {
    if (dim.has_dim_value() && dim.dim_value() > 0)
      return fixedDim(input, dim.dim_value(), index);
    if (dim.has_dim_value())
      return badModel("input '{}': dimension {} is {}, expected at least 1",
                      input, index, dim.dim_value());
    const std::string &name = dim.dim_param();
    if (auto it = options.dims.find(name); it != options.dims.end()) {
      used.insert(name);
      return it->second;
    }
    if (options.batch && (index == 0 || isBatchName(name)))
      return *options.batch;
    if (index == 0 || isBatchName(name))
      return badModel("input '{}': dimension {} ('{}') is symbolic; bind it "
                      "with --batch=N or --dim {}=N",
                      input, index, name, name.empty() ? "NAME" : name);
    if (name.empty())
      return badModel("input '{}': dimension {} is neither a number nor named; "
                      "export the model with that dimension fixed",
                      input, index);
    return badModel("input '{}': dimension {} ('{}') is symbolic; bind it with "
                    "--dim {}=N",
                    input, index, name, name);
  }

  Result<int64_t> fixedDim(const std::string &input, int64_t value, int index) {
    if (index == 0 && options.batch && *options.batch != value)
      return badModel("input '{}': the model was exported for batch {}, found "
                      "--batch={}; use --batch={} or export it with a dynamic "
                      "first dimension",
                      input, value, *options.batch, value);
    return value;
  }

  const OnnxFile &file;
  const ImportOptions &options;
  mlir::MLIRContext &context;
  std::set<std::string> used;
};

} // namespace

Result<std::vector<GraphInput>> bindInputs(const OnnxFile &file,
                                           const ImportOptions &options,
                                           mlir::MLIRContext &context) {
  return Binder(file, options, context).run();
}

} // namespace dlc::import
