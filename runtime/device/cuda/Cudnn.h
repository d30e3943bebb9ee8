// What we ask of cuDNN: graphs for commands. Behind this interface is one file
// that knows cudnn-frontend, or a stand-in.
#pragma once

#include "runtime/device/cpu/Conv.h"
#include "runtime/device/cuda/Context.h"

namespace dlc {

// A command as a graph of cuDNN, built for one GPU: engine chosen.
class CudnnGraph {
public:
  virtual ~CudnnGraph() = default;
  virtual uint64_t workspaceBytes() const = 0;
  virtual Status enqueue(CUdeviceptr workspace, CUstream stream) = 0;
};

class Cudnn {
public:
  virtual ~Cudnn() = default;

  virtual size_t version() const = 0; // 91900 for 9.19.0

  // conv, conv_backward_data or conv_backward_filter, as spec.command says;
  // `conv` was checked against it. The spec must outlive the graph.
  // Incompatible if no engine of the library can do it, with its words.
  virtual Result<std::unique_ptr<CudnnGraph>>
  convolution(const CommandSpec &spec, const Conv &conv) = 0;
};

// Opens libcudnn.so.9 for the GPU that is current. A library that exports
// `dlcCudnn`, a function of this type, is asked instead: a stand-in.
using CudnnFactory = Cudnn *(*)();
Result<std::unique_ptr<Cudnn>> openCudnn();

// Whether cuDNN accepts the graph of a command, without a GPU or a driver:
// validates it and builds its operations. Engines are not looked for.
Status checkConvolution(const CommandSpec &spec, const Conv &conv);

// Conv of a command of one of the three kinds.
Result<Conv> convolutionOf(const CommandSpec &spec);

} // namespace dlc
