// dlc export: trained weights as an ONNX model.
#include "compiler/export/Export.h"
#include "runtime/base/Files.h"
#include "runtime/base/Log.h"
#include "runtime/base/Safetensors.h"
#include "runtime/plan/Averages.h"
#include "runtime/plan/Model.h"
#include "tools/dlc-compile/Commands.h"

namespace dlc::tool {
namespace {

struct Arguments {
  std::string model, output;
  int averages = 0;
};

/// The file's tensors by name; an average of the set, if it is above 0, stands
/// for what it averages.
Result<exporter::Tensors> values(const SafetensorsFile &file,
                                 const Artifact &artifact, int averages) {
  exporter::Tensors tensors;
  bool found = false;
  for (const NamedTensor &t : file.tensors())
    tensors[t.name] = {t.dtype, t.shape, t.data, t.bytes};
  for (const auto &state : artifact.plan().states())
    if (plan::isAverage(state, averages)) {
      tensors[state.of()] = tensors[state.name()];
      found = true;
    }
  if (averages && !found)
    return usageError("'{}' has {} sets of moving averages, expected number "
                      "{}: compile with --ema",
                      artifact.path(), plan::countAverages(artifact.plan()),
                      averages);
  return tensors;
}

Status exportCommand(const Arguments &a) {
  DLC_ASSIGN(Model model, openModel(a.model, Artifact::Use::Inspect));
  DLC_ASSIGN(SafetensorsFile file, SafetensorsFile::open(model.statePath));
  DLC_ASSIGN(exporter::Tensors tensors,
             values(file, model.artifact, a.averages));
  DLC_ASSIGN(std::string skeleton,
             readFile(model.artifact.filePath("source.onnx"), size_t(2) << 30));
  DLC_TRY(exporter::exportOnnx(skeleton, tensors, a.output));
  info("{}: written from {}{}", a.output, model.statePath,
       a.averages ? ", moving averages" : "");
  return {};
}

} // namespace

void addExport(CommandLine &line) {
  auto a = std::make_shared<Arguments>();
  CLI::App *c = line.app.add_subcommand(
      "export", "write trained weights as an ONNX model");
  c->add_option("model", a->model,
                "a run (its newest checkpoint), a checkpoint or an artifact")
      ->required();
  c->add_option("-o,--output", a->output, "the ONNX file")
      ->required()
      ->type_name("FILE");
  c->add_flag("--ema", a->averages,
              "use the moving averages of the weights; --ema=2: the second "
              "set of them");
  c->footer("Example:\n  dlc export runs/lenet-1 --ema -o lenet-trained.onnx");
  c->callback(
      [&line, a] { line.chosen = [a] { return report(exportCommand(*a)); }; });
}

} // namespace dlc::tool
