#include "compiler/driver/Settings.h"
#include "compiler/import/Padding.h"
#include <fmt/format.h>

namespace dlc {

void Settings::addModel() {
  import::ImportOptions &i = options.import;
  count("model.batch", options.batch, 1,
        "rows of one rank's micro-batch, where the model leaves it open",
        int64_t(1) << 30);
  Setting &dim =
      add("model.dim", "binds a symbolic dimension of the model", "NAME=N");
  dim.repeats = true;
  dim.set = [&i](auto &words) -> Status {
    i.dims.clear();
    for (const std::string &word : words) {
      size_t split = word.find('=');
      if (split == std::string::npos)
        return usageError("expected NAME=N, found '{}'", word);
      auto n = parseCount(word.substr(split + 1), 1);
      if (!n)
        return usageError("expected NAME=N with N of 1 or more, found '{}'",
                          word);
      i.dims[word.substr(0, split)] = *n;
    }
    return {};
  };
  dim.get = [&i] {
    std::vector<std::string> words;
    for (const auto &[name, n] : i.dims)
      words.push_back(fmt::format("{}={}", name, n));
    return yamlText(words);
  };
  patterns("model.train", i.roles.train, "trains initializers that match, too");
  patterns("model.freeze", i.roles.freeze, "does not train those that match");
  list("model.padding-idx", i.paddings, "PARAM:ROW",
       "a row of an embedding table that gets no gradient, as torch's "
       "padding_idx; files of torch's dynamo exporter say it themselves")
      .set = [&i](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(import::checkPadding(word));
    i.paddings = words;
    return {};
  };
  choice("model.target", options.target, {"cpu", "cuda"},
         "what the step runs on");
  choice("model.layout", options.layout, {"auto", "nchw", "nhwc"},
         "of images inside a step; auto: what is faster on the target");
  text("model.cpu", options.cpu, "NAME",
       "the CPU that kernels are made for; native is this one")
      .only("model.target", {"cpu"});
  list("model.sm", options.cuda.sm, "N,N",
       "the compute capabilities that kernels are made for")
      .only("model.target", {"cuda"})
      .commas = true;
  choice("model.attention", options.train.attention.by,
         {"auto", "library", "generated", "off"},
         "who computes attention as one op: cuDNN, kernels of our own, nobody; "
         "auto, with --amp: cuDNN where it can")
      .only("model.target", {"cuda"});
  text("model.cuda-path", options.cuda.toolkit, "FOLDER",
       "the CUDA Toolkit; by default CUDA_HOME, CUDA_PATH or that of ptxas in "
       "PATH")
      .only("model.target", {"cuda"});
  choice("model.matmul", options.cuda.matmul, {"auto", "library", "generated"},
         "who multiplies matrices of halves; auto: who is predicted to be "
         "faster")
      .only("model.target", {"cuda"});
  choice("model.matmul-epilogues", options.cuda.epilogues,
         {"auto", "all", "off"},
         "what cuBLASLt does in its products: auto: GELU (tanh), its gradient "
         "and bias gradients; all: ReLU, too, which makes NaN 0, so that the "
         "loss may not show that a run diverged; off, if a GPU lacks one")
      .only("model.target", {"cuda"});
  choice("model.norm", options.cuda.norm, {"auto", "library", "generated"},
         "who computes batch and layer norm: cuDNN where it can, kernels of "
         "our own; auto: generated, nothing is measured yet")
      .only("model.target", {"cuda"});
}

void Settings::addRanks() {
  AllReduceOptions &o = options.train.allReduce;
  count("ddp.ranks", o.world, 1, "ranks that train together", 65536)
      .named("--ddp");
  Setting &bucket =
      add("ddp.bucket-mb",
          "size of an all-reduce bucket; the first one is of 1", "NUMBER");
  bucket.set = [&o](auto &words) -> Status {
    DLC_ASSIGN(double mb, parseNumber(words.size() == 1 ? words[0] : "",
                                      kAboveZero, 1 << 20));
    o.bucketBytes = int64_t(mb * (1 << 20));
    o.firstBucketBytes =
        std::min(AllReduceOptions().firstBucketBytes, o.bucketBytes);
    return {};
  };
  bucket.get = [&o] { return numberText(double(o.bucketBytes) / (1 << 20)); };
}

} // namespace dlc
