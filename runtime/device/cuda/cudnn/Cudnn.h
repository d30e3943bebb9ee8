// SPDX-License-Identifier: Apache-2.0
// dlc's interface to cuDNN: graphs for commands, implemented by cudnn-frontend
// or a stand-in.
#pragma once

#include "runtime/device/TuneCache.h"
#include "runtime/device/commands/Attention.h"
#include "runtime/device/commands/Conv.h"
#include "runtime/device/commands/Norm.h"
#include "runtime/device/cuda/driver/Context.h"

#include <span>

namespace dlc {

// Limits on plans.
struct CudnnLimits {
  uint64_t workspace = 0;     // bytes
  bool deterministic = false; // only sums of a fixed order
  bool tf32 = false;          // f32 may be rounded to it
  int plans = 1;              // at most
};

// A command as a cuDNN graph, and the plans (engines with their settings) that
// were built for it on one GPU.
class CudnnGraph {
public:
  virtual ~CudnnGraph() = default;

  // Builds the plans that the library proposes within the limits, best first;
  // plans that fail to build are left out. Returns engine, knobs, blob (the
  // serialized plan; empty if unsupported) and workspace of each. Incompatible
  // if there is none, with the library's message.
  virtual Result<std::vector<TuneEntry>> propose(const CudnnLimits &limits) = 0;
  // The plan of one such entry: from its blob if `fromBlob`, which is fast,
  // else from engine and knobs. Returns its workspace.
  virtual Result<uint64_t> restore(const TuneEntry &entry, bool fromBlob) = 0;
  // Uses only this plan from now on; it becomes plan 0.
  virtual void keep(size_t plan) = 0;

  // Writes `outputs`: the command's own or equal buffers.
  virtual Status enqueue(size_t plan, std::span<std::byte *const> outputs,
                         CUdeviceptr workspace, CUstream stream) = 0;
};

class Cudnn {
public:
  virtual ~Cudnn() = default;

  virtual size_t version() const = 0; // 91900 for 9.19.0
  // The version of cudnn-frontend, which numbers the knobs.
  virtual size_t frontendVersion() const = 0;

  // The graph of conv, conv_backward_data or conv_backward_filter, as given by
  // spec.command; `conv` must have been checked against it. The spec must
  // outlive the graph. Incompatible, with the library's message, if the library
  // does not support such a graph.
  virtual Result<std::unique_ptr<CudnnGraph>>
  convolution(const CommandSpec &spec, const Conv &conv) = 0;

  // The same for attention or attention_backward. `deterministic`: the gradient
  // of q is summed in a fixed order.
  virtual Result<std::unique_ptr<CudnnGraph>>
  attention(const CommandSpec &spec, const Attention &attention,
            bool deterministic) = 0;

  // The same for fused_batch_norm, fused_layer_norm or their gradients.
  virtual Result<std::unique_ptr<CudnnGraph>> norm(const CommandSpec &spec,
                                                   const Norm &norm) = 0;
};

// Opens libcudnn.so.9 for the current GPU, of this SM. Incompatible if it needs
// a newer CUDA than the driver's. A library that exports `dlcCudnn`, a function
// of this type, is used through it: a stand-in.
using CudnnFactory = Cudnn *(*)();
Result<std::unique_ptr<Cudnn>> openCudnn(const Driver &driver, int sm);

// Whether cuDNN accepts a command's graph, without a GPU or a driver: validates
// it and builds its operations, without a search for engines. A graph that
// needs the CUDA runtime is not accepted.
Status checkConvolution(const CommandSpec &spec, const Conv &conv);
Status checkAttention(const CommandSpec &spec, const Attention &attention,
                      bool deterministic, int sm);
Status checkNorm(const CommandSpec &spec, const Norm &norm, int sm);

// The plans that cuDNN would offer on another GPU: `device` describes it in the
// library's format (JSON, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION; facts.json
// of gpu-facts has one). They are built within the limits; those of attention
// and norms need a libcuda.so.1, which may be a stand-in, and NVRTC.
// Incompatible if there is none, with the library's message.
struct AbsentGpu {
  int sm;
  std::string device;
};
Result<std::vector<TuneEntry>> plansOfConvolution(const CommandSpec &spec,
                                                  const Conv &conv,
                                                  const CudnnLimits &limits,
                                                  const AbsentGpu &gpu);
Result<std::vector<TuneEntry>> plansOfAttention(const CommandSpec &spec,
                                                const Attention &attention,
                                                const CudnnLimits &limits,
                                                const AbsentGpu &gpu);
Result<std::vector<TuneEntry>> plansOfNorm(const CommandSpec &spec,
                                           const Norm &norm,
                                           const CudnnLimits &limits,
                                           const AbsentGpu &gpu);

// Conv of a command of one of the three kinds.
Result<Conv> convolutionOf(const CommandSpec &spec);

} // namespace dlc
