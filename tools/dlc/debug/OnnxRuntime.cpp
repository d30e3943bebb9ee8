// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/debug/OnnxRuntime.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Subprocess.h"
#include "runtime/data/Npy.h"
#include "runtime/plan/Types.h"

namespace dlc::tool {
namespace {

// Reads model.onnx and inputs.npz in the folder argv[1]; writes results.npz
// with arrays "0", "1", ..., and results.json, [[node, operation, tensor],
// ...]. Nodes are named as by labelOf() in compiler/import/Survey.h.
constexpr char kScript[] = R"(
import json, sys
try:
    import numpy as np, onnx, onnxruntime
except ImportError as error:
    sys.exit(f"{error}: install onnx and onnxruntime, or name another Python by --onnxruntime=PYTHON")
folder = sys.argv[1]
model = onnx.load(folder + "/model.onnx")
graph, tensors = model.graph, []
fixed = {info.name for info in graph.output}
for node in graph.node:
    if node.op_type == "BatchNormalization":  # of the batch in training form
        del node.output[1:]
        kept = [a for a in node.attribute if a.name != "training_mode"]
        del node.attribute[:]
        node.attribute.extend(kept)
    if node.op_type == "Dropout":
        del node.input[2:]
    first = next((name for name in node.output if name), "")
    label = node.name or (f"{node.op_type} -> {first}" if first else node.op_type)
    tensors += [(label, node.op_type, name) for name in node.output if name]
made = {name for _, _, name in tensors}
for info in [info for info in graph.output if info.name not in made]:
    graph.output.remove(info)
graph.output.extend(onnx.ValueInfoProto(name=name) for _, _, name in tensors if name not in fixed)
del graph.value_info[:]
onnx.save(model, folder + "/all.onnx", save_as_external_data=model.ByteSize() > 2**30)
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.log_severity_level = 4
session = onnxruntime.InferenceSession(folder + "/all.onnx", options, providers=["CPUExecutionProvider"])
types = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32, "int16": np.int16,
         "int8": np.int8, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "bool": np.bool_}
with np.load(folder + "/inputs.npz") as arrays:
    inputs = {}
    for one in session.get_inputs():
        if one.name not in arrays:
            sys.exit(f"the model has an input '{one.name}', which the program does not take")
        inputs[one.name] = arrays[one.name].astype(types[one.type[len("tensor("):-1]])
values = session.run([name for _, _, name in tensors], inputs)
lines, results = [], {}
for line, value in zip(tensors, values):
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        results[str(len(lines))] = value if value.dtype == np.float64 else value.astype(np.float32)
        lines.append(line)
np.savez(folder + "/results.npz", **results)
with open(folder + "/results.json", "w") as file:
    json.dump(lines, file)
)";

Status writeInputs(const std::string &path, const plan::Program &program,
                   const Batch &batch) {
  std::vector<NamedArray> arrays;
  for (int i = 0; i < program.inputs_size(); ++i) {
    const plan::Port &port = program.inputs(i);
    const plan::TensorType &type =
        program.buffers(static_cast<int>(port.buffer())).type();
    arrays.push_back({port.name(),
                      *plan::dtypeOf(type.dtype()),
                      {type.shape().begin(), type.shape().end()},
                      batch[static_cast<size_t>(i)]});
  }
  return writeNpz(path, arrays);
}

Result<std::vector<NodeResult>> readResults(const std::string &folder) {
  constexpr uint64_t kMostNames = 256 << 20;
  DLC_ASSIGN(const std::string text,
             readFile(folder + "/results.json", kMostNames));
  DLC_ASSIGN(const Json lines, parseJson(text));
  DLC_ASSIGN(const ArrayFile file, ArrayFile::open(folder + "/results.npz"));
  std::vector<NodeResult> results;
  for (size_t i = 0; i < lines.size(); ++i) {
    DLC_ASSIGN(const Array array, file.read(std::to_string(i)));
    plan::TensorType type;
    type.set_dtype(array.dtype == DType::F64 ? plan::F64 : plan::F32);
    for (const int64_t dim : array.shape)
      type.add_shape(dim);
    results.push_back(
        {lines[i][0].get<std::string>(), lines[i][1].get<std::string>(),
         lines[i][2].get<std::string>(), widen(type, array.data())});
  }
  return results;
}

} // namespace

Result<std::vector<NodeResult>> runOnnxRuntime(const std::string &python,
                                               const std::string &folder,
                                               const plan::Program &program,
                                               const Batch &batch) {
  DLC_TRY(writeInputs(folder + "/inputs.npz", program, batch));
  std::string last;
  DLC_ASSIGN(const ProgramEnd end, runProgram({python, "-c", kScript, folder},
                                              [&](std::string_view line) {
                                                if (!line.empty())
                                                  last = line;
                                              }));
  if (end.code != 0)
    return failed("onnxruntime by '{}' ended with exit code {}: {}", python,
                  end.code, last);
  return readResults(folder);
}

} // namespace dlc::tool
