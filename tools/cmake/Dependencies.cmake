# SPDX-License-Identifier: Apache-2.0
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_path(webp_include webp/decode.h REQUIRED)
find_library(webp_library webp REQUIRED)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(dnnl 3.2 REQUIRED)
find_package(Gloo REQUIRED)
find_package(GTest REQUIRED)
# Chart.js draws the charts of dlc report; its source is embedded in dlc.
find_file(DLC_CHART_JS chart.min.js PATHS /usr/share/javascript PATH_SUFFIXES chart.js NO_DEFAULT_PATH)
if(NOT DLC_CHART_JS)
  message(FATAL_ERROR "chart.min.js (Chart.js 3) not found: run tools/setup.sh or set -DDLC_CHART_JS")
endif()
add_library(WebP INTERFACE)
target_include_directories(WebP SYSTEM INTERFACE ${webp_include})
target_link_libraries(WebP INTERFACE ${webp_library})
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# Test tools are linked to LLVM's shared libraries, which is fast. A target with the property DLC_STATIC_LLVM is linked
# statically: it starts faster and runs where LLVM is not installed. Polly and all of LLVM's passes are included because
# lld can compile bitcode, though dlc never passes any to it.
file(GLOB mlir_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a)
file(GLOB llvm_archives ${LLVM_LIBRARY_DIR}/libLLVM*.a)
file(GLOB polly_archives ${LLVM_LIBRARY_DIR}/libPolly*.a)
if(NOT polly_archives)
  message(FATAL_ERROR "libPolly.a not found beside LLVM's libraries: run tools/setup.sh")
endif()
add_library(DlcLlvm INTERFACE)
set(is_static $<BOOL:$<TARGET_PROPERTY:DLC_STATIC_LLVM>>)
target_link_libraries(DlcLlvm INTERFACE
  "$<${is_static}:-Wl,--gc-sections;-Wl,--start-group;${mlir_archives};${llvm_archives};${polly_archives};-Wl,--end-group>"
  "$<$<NOT:${is_static}>:MLIR;LLVM>")

# onnx-ml.proto comes from the installed onnx package, never from this repository.
if(NOT DLC_ONNX_PROTO)
  execute_process(
    COMMAND ${DLC_PYTHON} -c
            "import importlib.util as u, os; print(os.path.dirname(u.find_spec('onnx').origin))"
    OUTPUT_VARIABLE onnx_dir OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(DLC_ONNX_PROTO ${onnx_dir}/onnx-ml.proto CACHE FILEPATH "onnx-ml.proto to import models with")
endif()
if(NOT EXISTS ${DLC_ONNX_PROTO})
  message(FATAL_ERROR "onnx-ml.proto not found: run tools/setup.sh or set -DDLC_ONNX_PROTO")
endif()

# The CUDA backend needs headers only: its libraries are opened at run time. Without them the build is for CPUs.
find_path(DLC_CUDA_INCLUDE cuda.h HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
set(DLC_HAS_CUDA ON)
foreach(header cublasLt.h cudnn.h nccl.h)
  if(NOT EXISTS ${DLC_CUDA_INCLUDE}/${header})
    set(DLC_HAS_CUDA OFF)
  endif()
endforeach()
if(DLC_HAS_CUDA)
  add_library(CudaHeaders INTERFACE)
  target_include_directories(CudaHeaders SYSTEM INTERFACE ${DLC_CUDA_INCLUDE})
  target_compile_definitions(CudaHeaders INTERFACE DLC_HAS_CUDA)
  # Headers only, from the Python environment; without them convolutions on GPUs are errors.
  file(GLOB site_packages ${DLC_VENV}/lib/python3*/site-packages/include)
  find_path(DLC_CUDNN_FRONTEND cudnn_frontend.h HINTS ${site_packages})
else()
  message(STATUS "dlc: no CUDA backend, since cuda.h, cublasLt.h, cudnn.h and nccl.h are not in one folder")
endif()
