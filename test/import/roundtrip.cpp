// Test program: imports a model and shows or exports it.
//
// fold MODEL FOLDER: writes each folded constant's bytes to FOLDER/<n> and
//   prints "n dtype shape name"
// dump MODEL FOLDER [BATCH]: the same for every weight, then "module" and its
//   text
// export MODEL OUT [LIMIT]: exports the weights, 1 added to each trained f32;
//   LIMIT is the inlineLimit
#include "compiler/dialect/Dlc.h"
#include "compiler/export/Export.h"
#include "compiler/import/Importer.h"
#include "compiler/import/tensor/ShapeMath.h"
#include <cstring>
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
  auto skeleton = exporter::makeSkeleton(*model.source, states, weights);
  if (!skeleton.ok())
    return report(skeleton.status());
  std::cout << "skeleton " << skeleton->size() << "\n";
  return report(exporter::exportOnnx(*skeleton, values, path, options));
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  mlir::MLIRContext context;
  import::ImportOptions options;
  if (std::string(argv[1]) == "export")
    options.batch = 4;
  else if (argc > 4)
    options.batch = std::stoll(argv[4]);
  if (std::string(argv[1]) == "fold")
    options.roles.freeze = {"."};
  auto model = import::importOnnx(context, argv[2], options);
  if (!model.ok())
    return int(model.status().code());
  if (std::string(argv[1]) == "fold")
    return dump(*model, argv[3], "const/");
  if (std::string(argv[1]) == "dump") {
    dump(*model, argv[3], "");
    std::cout << "module" << std::endl;
    model->module->print(llvm::outs());
    return 0;
  }
  exporter::ExportOptions exportOptions;
  if (argc > 4)
    exportOptions.inlineLimit = std::stoull(argv[4]);
  return exportAgain(*model, argv[3], exportOptions);
}
