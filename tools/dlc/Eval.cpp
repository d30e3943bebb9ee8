// dlc eval and dlc predict: use a model that is trained.
#include "tools/dlc/Commands.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/Validators.h"

#include "runtime/base/Json.h"

#include <filesystem>

namespace dlc::tool {
namespace {

struct Arguments {
  std::string model, data, output;
  std::optional<double> scale;
  int threads = 0, averages = 0;
  bool json = false;
};

void addFlags(CLI::App &command, Arguments &arguments) {
  command
      .add_option("model", arguments.model,
                  "a run (its newest checkpoint), a checkpoint or an artifact")
      ->required();
  command
      .add_option("--data", arguments.data,
                  "samples: .npz, or .npy with x only")
      ->required()
      ->type_name("FILE");
  command.add_flag("--ema", arguments.averages,
                   "use the moving averages of the weights; --ema=2: the "
                   "second set of them");
  command
      .add_option("--scale", arguments.scale,
                  "factor of the data (default: as in training)")
      ->check(number())
      ->type_name("FACTOR");
  command.add_option("--threads", arguments.threads, "default: all cores")
      ->check(wholeNumber(1, 4096))
      ->type_name("N");
}

// The model, ready, and the samples for one of its programs.
struct Loaded {
  std::unique_ptr<Session> session;
  Dataset data;
};

Result<Loaded> load(const Arguments &arguments, const char *program) {
  DLC_ASSIGN(Model model, openModel(arguments.model));
  DLC_ASSIGN(auto scale, dataScale(model, arguments.scale));
  DLC_ASSIGN(Dataset data, openDataset(arguments.data, model.artifact.plan(),
                                       program, scale));
  DLC_ASSIGN(auto session, Session::create(std::move(model),
                                           {.threads = arguments.threads,
                                            .averages = arguments.averages}));
  return Loaded{std::move(session), std::move(data)};
}

Status evaluate(const Arguments &arguments) {
  DLC_ASSIGN(Loaded loaded, load(arguments, "eval_step"));
  DLC_ASSIGN(EvalResult result, loaded.session->evaluate(loaded.data));
  if (arguments.json) {
    nlohmann::ordered_json object = {{"loss", result.loss}};
    if (result.accuracy)
      object["accuracy"] = *result.accuracy;
    object["samples"] = result.samples;
    printJson(object);
    return {};
  }
  printOut("loss {:.6g}", result.loss);
  if (result.accuracy)
    printOut("  accuracy {:.2f} %", 100 * *result.accuracy);
  printOut("  ({} samples)\n", result.samples);
  return {};
}

Status predict(const Arguments &arguments) {
  DLC_ASSIGN(Loaded loaded, load(arguments, "predict"));
  DLC_ASSIGN(auto outputs, loaded.session->predict(loaded.data));
  std::vector<NamedArray> arrays;
  for (const Session::Output &output : outputs)
    arrays.push_back({outputs.size() == 1 ? "y" : output.name, output.dtype,
                      output.shape, output.bytes});
  DLC_TRY(writeNpz(arguments.output, arrays));
  for (const NamedArray &array : arrays)
    info("{}: {} {}", arguments.output, array.key,
         describe(array.dtype, array.shape));
  return {};
}

} // namespace

Result<std::optional<double>> dataScale(const Model &model,
                                        std::optional<double> given) {
  if (given || !model.checkpoint)
    return given;
  auto run = std::filesystem::path(model.checkpoint->path).parent_path();
  DLC_ASSIGN(TrainOptions options,
             optionsFromYaml((run / "config.yaml").string()));
  return options.scale;
}

void addEval(CommandLine &line) {
  CLI::App *command =
      line.app.add_subcommand("eval", "loss and accuracy on samples");
  auto arguments = std::make_shared<Arguments>();
  addFlags(*command, *arguments);
  command->add_flag("--json", arguments->json, "one object on stdout");
  command->footer("Example:\n  dlc eval runs/lenet-1 --data=test.npz --ema");
  command->callback([&line, arguments] {
    line.chosen = [arguments] { return report(evaluate(*arguments)); };
  });
}

void addPredict(CommandLine &line) {
  CLI::App *command =
      line.app.add_subcommand("predict", "outputs of the model for samples");
  auto arguments = std::make_shared<Arguments>();
  addFlags(*command, *arguments);
  command
      ->add_option("-o,--output", arguments->output,
                   ".npz for the outputs: y, or by name if there are several")
      ->required()
      ->type_name("FILE");
  command->footer("Example:\n  dlc predict runs/lenet-1 --data=x.npz -o y.npz");
  command->callback([&line, arguments] {
    line.chosen = [arguments] { return report(predict(*arguments)); };
  });
}

} // namespace dlc::tool
