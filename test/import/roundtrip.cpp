// SPDX-License-Identifier: Apache-2.0
// Test program: imports a model and shows or exports it.
//
// fold MODEL FOLDER: writes each folded constant's bytes to FOLDER/<n> and
//   prints "n dtype shape name"
// run MODEL FOLDER BATCH INPUT...: what @predict means (compiler/reference) for
//   inputs of these names in FOLDER/in0, ...; each result's bytes go to
//   FOLDER/<n>, as fold says. BATCH 0: as the model says
// judge LIST: the same for each folder that LIST names, a line each: FOLDER and
//   the inputs' names after it, tabs between, with FOLDER/model.onnx. Before
//   each prints "case FOLDER", after it "end CODE MESSAGE", of one line
// export MODEL OUT [LIMIT]: exports the weights, 1 added to each trained f32;
//   LIMIT is the inlineLimit
#include "compiler/dialect/Dlc.h"
#include "compiler/export/Export.h"
#include "compiler/import/Importer.h"
#include "compiler/import/tensor/HostTensor.h"
#include "compiler/import/tensor/ShapeMath.h"
#include "compiler/reference/Interpreter.h"
#include "passes/Gradients.h"
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>

using namespace dlc;

static int dump(const import::ImportedModel &model, const std::string &folder,
                const std::string &prefix) {
  int count = 0;
  for (const auto &[name, weight] : model.weights.all()) {
    if (name.rfind(prefix, 0) != 0)
      continue;
    std::ofstream(folder + "/" + std::to_string(count), std::ios::binary)
        .write(static_cast<const char *>(weight.data), weight.bytes);
    std::cout << count++ << " " << nameOf(weight.dtype) << " "
              << import::toString(weight.shape) << " " << name << "\n";
  }
  return 0;
}

static DType dtypeOf(mlir::Type t) {
  if (t.isInteger())
    return t.isInteger(1)    ? DType::Bool
           : t.isInteger(8)  ? DType::U8
           : t.isInteger(32) ? DType::I32
                             : DType::I64;
  return t.isF16()    ? DType::F16
         : t.isBF16() ? DType::BF16
         : t.isF64()  ? DType::F64
                      : DType::F32;
}

static reference::Tensor tensorOf(const import::Weight &weight) {
  const auto host = import::HostTensor::from(weight, {});
  reference::Tensor t{ir::Ints(weight.shape)};
  for (size_t i = 0; i < t.data.size(); ++i)
    t.data[i] = host.number(i);
  return t;
}
static reference::Tensor readInput(mlir::Value v, const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  auto type = ir::tensorType(v);
  import::Weight weight{dtypeOf(type.getElementType()), type.getShape().vec()};
  weight.data = bytes.data();
  if (bytes.size() != weight.elements() * sizeOf(weight.dtype))
    throw std::runtime_error(path + " has another size than its input");
  return tensorOf(weight);
}

static int predict(import::ImportedModel &model, const std::string &folder,
                   const std::vector<std::string> &names) {
  auto f = model.module->lookupSymbol<mlir::func::FuncOp>("predict");
  reference::States states;
  for (auto state : model.module->getOps<ir::StateOp>())
    if (auto weight = llvm::dyn_cast<mlir::StringAttr>(state.getInit()))
      states[state.getSymName().str()] =
          tensorOf(*model.weights.find(weight.str()));
  std::vector<reference::Tensor> inputs;
  for (mlir::BlockArgument v : f.getArguments()) {
    auto name =
        f.getArgAttrOfType<mlir::StringAttr>(v.getArgNumber(), "dlc.name");
    const auto at = std::find(names.begin(), names.end(), name.str());
    inputs.push_back(
        readInput(v, folder + "/in" + std::to_string(at - names.begin())));
  }
  auto outcome =
      reference::interpret(f, inputs, states, reference::Precision::OfType);
  if (failed(outcome))
    return 1;
  for (auto [i, t] : llvm::enumerate(outcome->results)) {
    auto type = llvm::cast<mlir::RankedTensorType>(f.getResultTypes()[i]);
    import::HostTensor host(dtypeOf(type.getElementType()), t.shape);
    for (size_t k = 0; k < t.data.size(); ++k)
      host.setNumber(k, t.data[k]);
    std::ofstream(folder + "/" + std::to_string(i), std::ios::binary)
        << host.bytes();
    std::cout << i << " " << nameOf(host.dtype) << " "
              << import::toString(host.shape) << " "
              << f.getResultAttrOfType<mlir::StringAttr>(i, "dlc.name").str()
              << "\n";
  }
  return 0;
}

static int report(const Status &status) {
  if (!status.ok())
    std::cerr << "error: " << status.message() << "\n";
  return static_cast<int>(status.code());
}

static int exportAgain(import::ImportedModel &model, const std::string &path,
                       exporter::ExportOptions options) {
  exporter::Tensors weights, values;
  std::set<std::string> states;
  std::vector<std::vector<float>> moved;
  for (const auto &[name, w] : model.weights.all())
    weights[name] = {w.dtype, w.shape, w.data, w.bytes};
  for (auto state : model.module->getOps<ir::StateOp>()) {
    std::string name = state.getSymName().str();
    states.insert(name);
    auto view = weights.at(name);
    if (state.getTrainable() && view.dtype == DType::F32) {
      std::vector<float> copy(view.bytes / 4);
      std::memcpy(copy.data(), view.data, view.bytes);
      for (float &value : copy)
        value += 1;
      moved.push_back(std::move(copy));
      view.data = moved.back().data();
    }
    values[name] = view;
  }
  std::deque<std::string> buffers;
  for (const import::Replaced &r : model.replaced) {
    auto contents = import::gather(r, [&](const std::string &name) {
      const auto &view =
          values.count(name) ? values.at(name) : weights.at(name);
      return std::optional(
          import::Weight{view.dtype, {}, view.data, view.bytes});
    });
    if (!contents.ok())
      return report(contents.status());
    const std::string &bytes = buffers.emplace_back(std::move(contents->bytes));
    weights[r.name] = {contents->dtype, r.shape, bytes.data(), bytes.size()};
  }
  auto skeleton = exporter::makeSkeleton(*model.source, states, weights);
  if (!skeleton.ok())
    return report(skeleton.status());
  std::cout << "skeleton " << skeleton->size() << "\n";
  return report(exporter::exportOnnx(*skeleton, values, path, options));
}

static mlir::DialectRegistry withGradients() {
  mlir::DialectRegistry registry;
  registerGradients(registry);
  return registry;
}

static void judge(const std::vector<std::string> &words) {
  mlir::MLIRContext context(withGradients(),
                            mlir::MLIRContext::Threading::DISABLED);
  std::string message;
  context.getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      message += diagnostic.str() + "; ";
  });
  std::cout << "case " << words[0] << std::endl;
  auto model = import::importOnnx(context, words[0] + "/model.onnx", {});
  int code = int(model.status().code());
  if (model.ok())
    code = predict(*model, words[0], {words.begin() + 1, words.end()});
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::cout << "end " << code << " " << message << std::endl;
}

static int judgeAll(const std::string &list) {
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);) {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(line).split(parts, '\t');
    judge({parts.begin(), parts.end()});
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && std::string(argv[1]) == "judge")
    return judgeAll(argv[2]);
  if (argc < 4)
    return 2;
  mlir::MLIRContext context(withGradients());
  import::ImportOptions options;
  if (std::string(argv[1]) == "export")
    options.batch = 4;
  else if (argc > 4 && std::stoll(argv[4]) > 0)
    options.batch = std::stoll(argv[4]);
  if (std::string(argv[1]) == "fold")
    options.roles.freeze = {"."};
  auto model = import::importOnnx(context, argv[2], options);
  if (!model.ok())
    return int(model.status().code());
  if (std::string(argv[1]) == "fold")
    return dump(*model, argv[3], "const/");
  if (std::string(argv[1]) == "run")
    return predict(*model, argv[3], {argv + 5, argv + argc});
  exporter::ExportOptions exportOptions;
  if (argc > 4)
    exportOptions.inlineLimit = std::stoull(argv[4]);
  return exportAgain(*model, argv[3], exportOptions);
}
