// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Text.h"
#include "runtime/base/options/Nearest.h"

#include <algorithm>
#include <string_view>

namespace dlc {
namespace {

struct Row {
  std::string_view theirs; // separated by spaces
  std::string_view ours;
};

constexpr Row kRows[] = {
    // Options.
    {"batch-size bs per-device-train-batch-size train-batch-size", "--batch"},
    {"learning-rate lr0 base-lr", "--lr"},
    {"wd", "--weight-decay"},
    {"opt optim", "--optimizer"},
    {"scheduler sched lr-scheduler lr-scheduler-type", "--schedule"},
    {"warmup-steps warmup-epochs", "--warmup"},
    {"criterion loss-fn loss-function", "--loss"},
    {"gradient-accumulation-steps grad-accum-steps accumulate-grad-batches",
     "--accumulate"},
    {"max-grad-norm clip-grad-norm gradient-clip-val", "--clip-grad"},
    {"fp16 half float16", "--amp --amp-dtype=fp16"},
    {"bf16 bfloat16 mixed-precision precision", "--amp"},
    {"device accelerator gpu cuda", "--target=cuda"},
    {"gpus num-gpus devices nproc-per-node world-size", "--ddp=N"},
    {"sync-batchnorm", "--sync-bn"},
    {"gradient-checkpointing checkpoint-activations", "--recompute=REGEX"},
    {"channels-last", "--layout=nhwc"},
    {"model-ema", "--ema"},
    {"num-classes nc", "--replace-head=N"},
    {"pretrained initial-checkpoint", "--weights=FILE"},
    {"seq-len max-length block-size imgsz img-size image-size input-size",
     "--dim NAME=N"},
    {"max-epochs num-epochs num-train-epochs", "--epochs"},
    {"max-steps num-steps iterations", "--steps"},
    {"num-workers dataloader-num-workers", "--workers"},
    {"dataset train train-data data-dir train-dir data-path source", "--data"},
    {"validation val-data val-dir eval-data valid", "--val"},
    {"output-dir save-dir project log-dir default-root-dir", "--run"},
    {"resume-from-checkpoint ckpt-path ckpt", "--resume"},
    {"save-steps save-period", "--save-every"},
    {"save-total-limit", "--keep"},
    {"random-seed manual-seed", "--seed"},
    {"early-stopping early-stopping-patience", "--patience"},
    {"format", "--output=FILE.onnx"},
    // Commands and values.
    {"map50 map75 map50-95", "dlc-data map"},
    {"masks", "dlc-data masks"},
    {"boxes coco yolo", "dlc-data boxes"},
    {"fit", "train"},
    {"evaluate validate", "eval"},
    {"gpu", "cuda"},
    {"half float16 16", "fp16"},
    {"bfloat16", "bf16"},
    {"float float32 fp32", "f32"},
    {"momentum", "sgd"},
    {"fusedlamb", "lamb"},
    {"cosineannealing cosineannealinglr cosine-annealing", "cosine"},
    {"onecyclelr", "onecycle"},
    {"multisteplr step steplr", "multistep"},
    {"polynomiallr poly", "polynomial"},
    {"crossentropy crossentropyloss ce softmax categorical-crossentropy "
     "sparse-categorical-crossentropy",
     "cross_entropy"},
    {"nllloss", "nll"},
    {"bceloss bcewithlogits bcewithlogitsloss binary-crossentropy", "bce"},
    {"mseloss l2 mean-squared-error", "mse"},
    {"l1loss mae mean-absolute-error", "l1"},
    {"smoothl1loss", "smooth_l1"},
    {"huberloss", "huber"},
    {"mean-absolute-error l1", "mae"},
    {"top-5 top5-accuracy", "top5"},
    {"f1-score f1score", "f1"},
    {"auroc roc-auc rocauc", "auc"},
    {"average-precision map", "ap"},
    {"jaccard miou mean-iou", "iou"},
    {"confusion-matrix", "confusion"},
};

} // namespace

std::string plainWord(const std::string &word) {
  std::string text = lowerCase(
      word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::ranges::replace(text, '_', '-');
  return text;
}

std::vector<std::string> oursFor(const std::string &word) {
  const std::string plain = " " + plainWord(word) + " ";
  std::vector<std::string> found;
  for (const Row &row : kRows)
    if ((" " + std::string(row.theirs) + " ").find(plain) != std::string::npos)
      found.emplace_back(row.ours);
  return found;
}

} // namespace dlc
