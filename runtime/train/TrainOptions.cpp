// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/TrainOptions.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/options/Nearest.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/train/run/Best.h"
#include "runtime/train/session/EqualRanks.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>

namespace dlc {
namespace {

void addPlaces(OptionTable &table, TrainOptions &o) {
  table
      .text("run.artifact", o.artifact, "MODEL",
            "model.dlc made by dlc compile")
      .named("artifact");
  table.text("run.resume", o.resume, "RUN", "run to resume").flagOnly();
  table
      .count(
          "run.checkpoint", o.checkpoint, 0,
          "step of the checkpoint to resume (default: the newest intact one)")
      .described("STEP")
      .only("run.resume", {})
      .flagOnly();
  table.text(
      "run.state", o.state, "RUN",
      "run or checkpoint of another artifact, whose parameters, moments, "
      "averages, loss scale, step and position in the data the new run "
      "takes over by name");
  table.text("run.data", o.data, "PATH",
             "samples: .npz or .safetensors with arrays x and y, a table "
             "(.csv, .parquet), a folder with one folder of pictures per "
             "class, shards (a-{000..127}.tar), tokens (.bin) or text (.txt); "
             "several, separated by commas");
  table.text("run.data-command", o.dataCommand, "COMMAND",
             "program that each rank starts and that writes samples to its "
             "standard output, in place of --data; --data=-: standard input");
  table
      .number("run.data-timeout", o.dataTimeout, 0.1, 1e6,
              "longest time in seconds without output of --data-command")
      .described("SECONDS");
  table.text("run.val", o.val, "PATH", "samples to evaluate after each epoch");
  table.text("run.run", o.run, "FOLDER", "run folder (default runs/MODEL-N)")
      .notKept();
}

void addLength(OptionTable &table, TrainOptions &o) {
  table.count("run.steps", o.steps, 0, "optimizer steps, instead of --epochs");
  table.count("run.epochs", o.epochs, 0,
              "passes over the data (default: until the compiled number of "
              "steps, or 10)");
  table
      .toggle("run.reschedule", o.reschedule,
              "rescaling of a schedule that was made for another number of "
              "steps, by --steps at compile time or by the resumed run")
      .notKept();
  table.require([&o](const OptionTable::Given &given) -> Status {
    if (o.steps && o.epochs)
      return usageError("--steps and --epochs are both given, expected one");
    for (auto [key, n] :
         {std::pair("run.steps", o.steps), std::pair("run.epochs", o.epochs)})
      if (isGiven(given, key) && n == 0)
        return usageError("--{}: expected a whole number of at least 1, found "
                          "'0'",
                          std::string_view(key).substr(4));
    return {};
  });
}

void addSamples(OptionTable &table, TrainOptions &o) {
  table.count("run.batch", o.batch, 0,
              "rows of a rank's micro-batch, one of the sizes that the model "
              "was compiled for; 0: the largest");
  table
      .either("run.shuffle", o.shuffle, "off", "on",
              "random order of the samples")
      .described("{on,off}");
  table.count("run.seed", o.seed, 0, "seed of the order and of augmentation");
  o.samples.addTo(table, "run");
  table
      .count("run.workers", o.workers, 0,
             "threads per rank that decode samples; 0: cores / ranks", 4096)
      .notKept();
}

// "90s", "10min", "2h" in seconds; nullopt for other text.
std::optional<double> secondsOf(const std::string &word) {
  for (const auto &[unit, factor] :
       {std::pair("min", 60.0), std::pair("h", 3600.0), std::pair("s", 1.0)})
    if (const std::string_view text = word; text.ends_with(unit)) {
      const auto number =
          parseNumber(word.substr(0, word.size() - std::string(unit).size()),
                      kAboveZero, 1e9);
      return number ? std::optional(*number * factor) : std::nullopt;
    }
  return std::nullopt;
}

void addSaveEvery(OptionTable &table, TrainOptions &o) {
  Option &row = table.add("run.save-every",
                          "steps between checkpoints, or a time such as 30s, "
                          "10min, 2h; 0: one epoch",
                          "N|TIME");
  row.set = [&o](auto &words) -> Status {
    DLC_ASSIGN(const std::string word, oneWord(words));
    const auto seconds = secondsOf(word);
    const auto steps = parseCount(word, 0);
    if (!seconds && !steps)
      return usageError("expected a whole number of at least 0, or a time as "
                        "30s, 10min or 2h, found '{}'",
                        word);
    o.saveSeconds = seconds.value_or(0);
    o.saveEvery = seconds ? 0 : *steps;
    return {};
  };
  row.get = [&o] {
    return Words{o.saveSeconds > 0 ? numberText(o.saveSeconds) + "s"
                                   : std::to_string(o.saveEvery)};
  };
}

void addValidation(OptionTable &table, TrainOptions &o) {
  table.group("Validation");
  addMetrics(table, "run.metrics", o.metrics);
  table.text("run.best", o.best, "METRIC",
             "metric of the checkpoint to keep as RUN/best, beside the --keep "
             "newest: loss, a metric, or one of the averages such as ema_loss");
  table.count("run.patience", o.patience, 0,
              "consecutive validations without improvement of --best (default: "
              "loss) that end the run; 0: no limit");
  table.number("run.min-delta", o.minDelta, 0, kNoLimit,
               "smallest improvement that counts for --patience");
  table.require([&o](auto &) -> Status {
    DLC_TRY(parseMetrics(o.metrics).status().withContext("--metrics"));
    return o.best.empty() ? Status() : parseBest(o.best).status();
  });
}

void addSteps(OptionTable &table, TrainOptions &o) {
  addSaveEvery(table, o);
  table.count("run.keep", o.keep, 1, "number of intact checkpoints to keep");
  table
      .choice("run.save", o.save, {"background", "sync", "sharded"},
              "writing of checkpoints; background: from a copy of the state in "
              "memory while steps continue; sync: steps wait; sharded: in the "
              "background, each rank writes its shard into the run's folder, "
              "which all hosts share")
      .notKept();
  table.text("run.after-save", o.afterSave, "COMMAND",
             "program that rank 0 starts for each checkpoint that is on disk, "
             "by its path DLC_CHECKPOINT, as to copy it to an object store; "
             "steps continue");
  table.count("run.max-skips", o.maxSkips, 1,
              "consecutive skipped steps that end the run");
  table
      .toggle("run.debug-overflow", o.debugOverflow,
              "report of the node where an overflow or a NaN starts")
      .notKept();
  table.count("run.check-ranks", o.checkRanks, 0,
              "steps between comparisons of all ranks' weights, by hash, and "
              "one before each checkpoint; a rank that differs is named and "
              "ends the run; 0: none");
  table.count("run.log-every", o.logEvery, 0,
              "steps between progress lines; 0: every 2 s");
  table.count("run.stats-every", o.statsEvery, 0,
              "steps between lines of RUN/stats.jsonl, for models compiled "
              "with --stats; 0: none (default: 10)");
  table.toggle("run.tensorboard", o.tensorboard,
               "TensorBoard event files in RUN/tensorboard");
  table.text("run.prometheus", o.prometheus, "FILE",
             "file of the newest numbers in Prometheus' text format, for the "
             "node exporter's textfile collector (FILE.prom)");
  table.toggle("run.quiet", o.quiet, "no progress").notKept();
  table
      .toggle("run.log-json", o.logJson,
              "progress and messages on stderr as JSON, one object per line")
      .notKept();
  table
      .toggle("run.profile", o.profile,
              "time of every command: a table at the end, RUN/profile.json, "
              "RUN/trace.json (Perfetto)")
      .notKept();
  table
      .toggle("run.no-graph", o.noGraph,
              "separate launches of a step's commands on a GPU, not one "
              "recorded graph")
      .notKept();
}

void addRanks(OptionTable &table, TrainOptions &o) {
  table.group("Ranks");
  table.count("run.threads", o.threads, 0, "threads per rank; 0: cores / ranks",
              4096);
  table
      .number("run.timeout", o.timeout, 0.1, 1e6,
              "time in seconds after which a rank that others wait for is lost")
      .described("SECONDS");
  table.toggle("run.hierarchical-all-reduce", o.hierarchicalAllReduce,
               "all-reduce within each host first, then between hosts: fewer "
               "bytes between hosts; sums differ in the last bits");
  Option &group = table.count(
      "run.zero-group", o.zeroGroup, 0,
      "ranks that share out states of a model compiled with --zero: each group "
      "of so many consecutive ranks has all shards; host: those of each host; "
      "0: all ranks are one group",
      65536);
  group.type = "N|host";
  group.set = [&o, count = group.set](const Words &words) {
    if (words != Words{"host"})
      return count(words);
    o.zeroGroup = -1;
    return Status();
  };
  group.get = [&o, count = group.get] {
    return o.zeroGroup < 0 ? Words{"host"} : count();
  };
  table.choice("run.bn-buffers", o.bnBuffers,
               {kBufferModes.begin(), kBufferModes.end()},
               "running statistics of several ranks when they are read or "
               "saved; broadcast: rank 0's; mean: over ranks");
}

// The option's key in config.yaml: "save_every".
std::string keyInRun(const Option &option) {
  std::string key = option.key.substr(option.key.find('.') + 1);
  std::ranges::replace(key, '-', '_');
  return key;
}

std::string placeOf(const std::string &path, const YAML::Mark &mark) {
  return fmt::format("'{}', line {}, column {}", path, mark.line + 1,
                     mark.column + 1);
}

Words wordsOf(const YAML::Node &value) {
  if (value.IsSequence())
    return value.as<Words>();
  return value.IsNull() ? Words() : Words{value.as<std::string>()};
}

// Sets the option of an entry of `path`, unless its key is in `except`.
Status readEntry(const YAML::Node &name, const YAML::Node &value,
                 const OptionTable &table, const OptionTable::Given &except,
                 const std::string &path) {
  const std::string key = name.as<std::string>();
  Words known;
  for (const Option &option : table.all()) {
    if (!option.kept)
      continue;
    known.push_back(keyInRun(option));
    if (known.back() != key)
      continue;
    if (isGiven(except, option.key))
      return {};
    const Status set = option.set(wordsOf(value));
    return set.ok() ? set
                    : corrupt("{}: {}: {}", placeOf(path, value.Mark()), key,
                              set.message());
  }
  return corrupt("{}: unknown key '{}'{}", placeOf(path, name.Mark()), key,
                 suggestion(key, known));
}

Status readMap(const YAML::Node &map, const std::string &path,
               const OptionTable::Given &except, TrainOptions &options) {
  OptionTable table;
  options.addTo(table);
  for (const auto &entry : map)
    DLC_TRY(readEntry(entry.first, entry.second, table, except, path));
  for (const Option &option : table.all())
    if (option.kept && !map[keyInRun(option)])
      options.missing.push_back(keyInRun(option));
  return map["data"] ? Status() : corrupt("'{}' has no 'data'", path);
}

Status readFileInto(const std::string &path, const OptionTable::Given &except,
                    TrainOptions &options) {
  DLC_ASSIGN(std::string text, readFile(path, 1 << 20));
  try {
    const YAML::Node node = YAML::Load(text);
    if (!node.IsMap())
      return corrupt("'{}' is not a configuration: expected keys and values",
                     path);
    return readMap(node, path, except, options);
  } catch (const YAML::Exception &error) {
    return corrupt("{}: {}", placeOf(path, error.mark), error.msg);
  }
}

} // namespace

void TrainOptions::addTo(OptionTable &table) {
  addPlaces(table, *this);
  addLength(table, *this);
  addSamples(table, *this);
  samples.addDrawsTo(table, "run");
  table.group("");
  addSteps(table, *this);
  addValidation(table, *this);
  addRanks(table, *this);
  tune.addTo(table);
}

std::string toYaml(const TrainOptions &options) {
  TrainOptions bound = options;
  OptionTable table;
  bound.addTo(table);
  std::string text;
  for (const Option &option : table.all())
    if (option.kept)
      text += fmt::format("{}: {}\n", keyInRun(option), option.yaml());
  return text;
}

Result<TrainOptions> optionsFromYaml(const std::string &path) {
  TrainOptions options;
  DLC_TRY(readFileInto(path, {}, options));
  return options;
}

Result<SampleOptions> samplesOf(const Model &model) {
  if (!model.checkpoint)
    return SampleOptions();
  const auto run = std::filesystem::path(model.checkpoint->path).parent_path();
  DLC_ASSIGN(TrainOptions trained,
             optionsFromYaml((run / "config.yaml").string()));
  return trained.samples;
}

// Keys of all sample options.
static Words sampleKeys(SampleOptions samples) {
  OptionTable table;
  samples.addTo(table, "run");
  samples.addDrawsTo(table, "run");
  Words keys;
  for (const Option &option : table.all())
    keys.push_back(option.key);
  return keys;
}

Status checkResume(const TrainOptions &o, const OptionTable &table) {
  Words fixed = {"run.run", "run.state", "run.seed", "run.shuffle"};
  for (const std::string &key : sampleKeys({}))
    fixed.push_back(key);
  for (const std::string &key : fixed)
    if (isGiven(o.given, key))
      return usageError("{} cannot change in a run that is resumed",
                        table.find(key)->flag);
  return {};
}

Result<TrainOptions> resumeOptions(const TrainOptions &given) {
  DLC_TRY(checkIsRun(given.resume));
  std::string path = given.resume + "/config.yaml";
  OptionTable::Given except = given.given;
  if (isGiven(except, "run.steps") || isGiven(except, "run.epochs"))
    except.insert(except.end(), {"run.steps", "run.epochs"}); // either one
  TrainOptions options = given;
  DLC_TRY(readFileInto(path, except, options));
  return options;
}

} // namespace dlc
