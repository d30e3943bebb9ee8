// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/guide/ForeignModel.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace dlc::import {
namespace {

using namespace std::string_view_literals;

/// In texts, {0} is the file, {1} its name without extension.
struct Format {
  std::string_view endings, begin; // suffixes of names; content prefix
  size_t at;                       // offset of the content prefix
  std::string_view what, toOnnx;
  std::string_view fromOnnx = ""; // {2} is the exported file
};

constexpr std::string_view
    kModule = "`python -m dlc.export my.py:Model --input 1,3,224,224 "
              "--weights {0} -o model.onnx`",
    kKeras = "`python -c 'import keras; keras.models.load_model(\"{0}\")."
             "export(\"model.onnx\", format=\"onnx\")'` (Keras 3.8 or newer)",
    kSource = "give dlc the ONNX file that it was made from",
    kToModule = "in Python, dlc.Session(RUN).load_into(module) and torch.save("
                "module.state_dict(), \"{0}\")";

constexpr Format kFormats[] = {
    {".pt2", "", 0, "a program of torch.export",
     "`python -c 'import torch; torch.onnx.export(torch.export.load(\"{0}\"), "
     "f=\"model.onnx\", dynamo=True, optimize=False)'`",
     kToModule},
    {".pt .pth", "", 0, "a file of torch.save", kModule, kToModule},
    {".torchscript", "", 0, "a file of torch.jit.save", kModule, kToModule},
    {".ckpt", "", 0, "a checkpoint of PyTorch Lightning", kModule, kToModule},
    {".data", "", 0, "the weights of an ONNX model",
     "give dlc the model beside it, `{1}`"},
    {".onnx_data", "", 0, "the weights of an ONNX model",
     "give dlc the model beside it, `{1}.onnx`"},
    {".safetensors", "{\"", 8, "a file of weights without a model",
     "give them to a model: `dlc compile MODEL.onnx --weights={0}`",
     "the run's own file has the weights by name: RUN/checkpoint-STEP/"
     "state.safetensors; adapters alone with --lora=adapters"},
    {".tflite", "TFL3", 4, "a model of TensorFlow Lite",
     "`python -m tf2onnx.convert --tflite {0} --output model.onnx`",
     "`onnx2tf -i {2} -o {1}` makes it"},
    {".keras", "", 0, "a model of Keras", kKeras,
     "`onnx2tf -i {2} -o {1} -okv3` makes it"},
    {".h5 .hdf5", "\x89HDF\r\n", 0, "an HDF5 file, as of Keras", kKeras,
     "`onnx2tf -i {2} -o {1} -oh5` makes it"},
    {".pb", "", 0, "a graph of TensorFlow",
     "`python -m tf2onnx.convert --graphdef {0} --inputs x:0 --outputs y:0 "
     "--output model.onnx`",
     "`onnx2tf -i {2} -o {1}` makes it"},
    {".pkl", "\x80\x02", 0, "a pickle", kModule, kToModule},
    {".pickle", "\x80\x03", 0, "a pickle", kModule, kToModule},
    {".joblib", "\x80\x04", 0, "a pickle", kModule, kToModule},
    {".bin", "\x80\x05", 0, "a file of weights or a pickle", kModule,
     kToModule},
    {".npz", "", 0, "a file of arrays",
     "samples come after the model: `dlc compile MODEL.onnx -o model.dlc`, "
     "then `dlc train model.dlc --data={0}`"},
    {".py", "", 0, "a Python program",
     "`python -m dlc.export {0}:Model --input 1,3,224,224 -o model.onnx`"},
    {".gguf", "GGUF", 0, "a model of llama.cpp",
     "export the model that it was made from"},
    {".mlmodel .mlpackage", "", 0, "a model of Core ML",
     "export the model that it was made from",
     "load the weights into the module, and convert that by coremltools"},
    {".engine .plan .trt", "", 0, "an engine of TensorRT", kSource,
     "`trtexec --onnx={2} --saveEngine={0}` makes it"},
    {".xml", "", 0, "a model of OpenVINO", kSource,
     "`ovc {2} --output_model {0}` makes it"},
    {".ort", "ORTM", 4, "a model in ONNX Runtime's own format", kSource,
     "`python -m onnxruntime.tools.convert_onnx_models_to_ort {2}` makes it"},
    {"", "PK\3\4", 0, "a zip file, as of torch.save", kModule},
    {"", "\x1f\x8b", 0, "compressed by gzip", "unpack it: `gunzip {0}`"},
};

/// The name's extension is one of the endings.
bool endsIn(const std::string &path, std::string_view endings) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return !ending.empty() &&
         fmt::format(" {} ", endings).find(fmt::format(" {} ", ending)) !=
             ending.npos;
}

std::string filled(std::string_view text, const std::string &path,
                   const std::string &onnx = "") {
  const std::string stem = path.substr(0, path.rfind('.'));
  std::string line;
  for (size_t i = 0; i < text.size(); ++i)
    if (text.substr(i, 3) == "{0}" || text.substr(i, 3) == "{1}" ||
        text.substr(i, 3) == "{2}") {
      line += text[i + 1] == '0' ? path : text[i + 1] == '1' ? stem : onnx;
      i += 2;
    } else {
      line += text[i];
    }
  return line;
}

std::string foreignFolder(const std::filesystem::path &folder) {
  std::error_code error;
  const auto has = [&](const char *name) {
    return std::filesystem::exists(folder / name, error);
  };
  const std::string path = folder.string();
  if (has("plan.pb"))
    return fmt::format("an artifact of dlc compile: train it: `dlc train {} "
                       "--data=DATA`",
                       path);
  if (has("saved_model.pb"))
    return fmt::format("a SavedModel of TensorFlow: `python -m tf2onnx.convert "
                       "--saved-model {} --output model.onnx`; see {}",
                       path, kExportGuide);
  if (has("config.json"))
    return fmt::format("a model of transformers: `optimum-cli export onnx "
                       "--model {} FOLDER`; see {}",
                       path, kExportGuide);
  return "";
}

} // namespace

std::string foreignModel(const std::string &path, std::string_view bytes) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return foreignFolder(path);
  const auto saysIts = [&](const Format &format) {
    return !format.begin.empty() && bytes.size() > format.at &&
           bytes.substr(format.at).starts_with(format.begin);
  };
  const Format *found = nullptr;
  for (const Format &format : kFormats)
    if (endsIn(path, format.endings) || (!found && saysIts(format)))
      if (found = &format; endsIn(path, format.endings))
        break;
  if (!found)
    return "";
  return fmt::format("{}, not an ONNX model: {}; see {}", found->what,
                     filled(found->toOnnx, path), kExportGuide);
}

std::string foreignOutput(const std::string &path) {
  for (const Format &format : kFormats) {
    if (!endsIn(path, format.endings) || format.endings == ".data")
      continue;
    const std::string onnx = path.substr(0, path.rfind('.')) + ".onnx";
    std::string text = fmt::format("dlc export writes ONNX: give -o {}", onnx);
    if (!format.fromOnnx.empty())
      text += "; " + filled(format.fromOnnx, path, onnx);
    return text;
  }
  return "";
}

} // namespace dlc::import
