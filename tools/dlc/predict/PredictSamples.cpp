// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/predict/PredictSamples.h"

namespace dlc::tool {

SampleArguments::SampleArguments() : FlagArguments("eval") {
  addModel(table, "eval.model", model);
  table.text(
      "eval.data", data, "PATH",
      "samples: .npz, .npy with x only, .safetensors, .csv, .parquet, a folder "
      "of pictures, .tar, .bin or .txt; several separated by commas");
  addAverages(table, "eval.ema", averages);
  table.group("Samples (default for a run: as in its training)");
  samples.addTo(table, "eval");
  table.group("Options");
  addThreads(table, "eval.threads", threads, "threads (default: all cores)");
}

Result<LoadedSamples> loadSamples(const SampleArguments &arguments,
                                  const char *program,
                                  const OpenSources &open) {
  const int threads = int(arguments.threads.value_or(0));
  DLC_ASSIGN(Model model, openModel(arguments.model));
  DLC_ASSIGN(const SampleOptions options,
             sampleOptions(model, arguments.table, arguments.flags.given()));
  DLC_ASSIGN(auto sources, open ? open(model, options)
                                : openSources(arguments.data, options));
  DLC_ASSIGN(SizedData data,
             openDatasets(sources, model.artifact.plan(), program, options));
  DLC_ASSIGN(auto session, Session::create(std::move(model),
                                           {.threads = threads,
                                            .averages = arguments.averages}));
  return LoadedSamples{std::move(session), std::move(data), std::move(sources),
                       options};
}

Result<SampleOptions> sampleOptions(const Model &model,
                                    const OptionTable &table,
                                    const OptionTable::Given &given) {
  DLC_ASSIGN(SampleOptions options, samplesOf(model));
  OptionTable own;
  options.addTo(own, "eval");
  for (const Option &option : own.all())
    if (isGiven(given, option.key))
      DLC_TRY(own.set(option, table.find(option.key)->get().value_or(Words()),
                      option.flag));
  DLC_TRY(own.check({}));
  return options;
}

} // namespace dlc::tool
