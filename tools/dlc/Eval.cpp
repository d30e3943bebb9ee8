// dlc eval and dlc predict: use a model that is trained.
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/Rows.h"

#include "runtime/base/Json.h"

#include <filesystem>

namespace dlc::tool {
namespace {

struct Arguments {
  Arguments();

  std::string model, data, output;
  std::optional<double> scale;
  std::optional<int64_t> threads;
  int averages = 0;
  bool json = false;
  OptionTable table;
  OptionFlags flags{table, onlySection("eval")};
};

// What both commands take.
Arguments::Arguments() {
  table.group("Options");
  addModel(table, "eval.model", model);
  table.text("eval.data", data, "FILE", "samples: .npz, or .npy with x only");
  addAverages(table, "eval.ema", averages);
  table
      .number("eval.scale", scale, -kNoLimit, kNoLimit,
              "factor of the data (default: as in training)")
      .described("FACTOR");
  addThreads(table, "eval.threads", threads, "default: all cores");
}

// The model, ready, and the samples for one of its programs.
struct Loaded {
  std::unique_ptr<Session> session;
  Dataset data;
};

Result<Loaded> load(const Arguments &arguments, const char *program) {
  const int threads = static_cast<int>(arguments.threads.value_or(0));
  DLC_ASSIGN(Model model, openModel(arguments.model));
  DLC_ASSIGN(auto scale, dataScale(model, arguments.scale));
  DLC_ASSIGN(Dataset data, openDataset(arguments.data, model.artifact.plan(),
                                       program, scale));
  DLC_ASSIGN(auto session, Session::create(std::move(model),
                                           {.threads = threads,
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

namespace {

// A command that does `run` with its flags and those `required`.
void addCommand(CommandLine &line, CLI::App &command,
                std::shared_ptr<Arguments> arguments,
                std::initializer_list<const char *> required,
                Status (*run)(const Arguments &)) {
  arguments->flags.addTo(command);
  for (const char *name : required)
    command.get_option(name)->required();
  command.callback([&line, arguments, run] {
    line.chosen = [arguments, run] {
      const Status applied = arguments->flags.apply();
      return report(applied.ok() ? run(*arguments) : applied);
    };
  });
}

} // namespace

void addEval(CommandLine &line) {
  CLI::App *command =
      line.app.add_subcommand("eval", "loss and accuracy on samples");
  auto arguments = std::make_shared<Arguments>();
  arguments->table.toggle("eval.json", arguments->json, "one object on stdout");
  command->footer("Example:\n  dlc eval runs/lenet-1 --data=test.npz --ema");
  addCommand(line, *command, arguments, {"model", "--data"}, evaluate);
}

void addPredict(CommandLine &line) {
  CLI::App *command =
      line.app.add_subcommand("predict", "outputs of the model for samples");
  auto arguments = std::make_shared<Arguments>();
  addOutput(arguments->table, "eval.output", arguments->output,
            ".npz for the outputs: y, or by name if there are several");
  command->footer("Example:\n  dlc predict runs/lenet-1 --data=x.npz -o y.npz");
  addCommand(line, *command, arguments, {"model", "--data", "--output"},
             predict);
}

} // namespace dlc::tool
