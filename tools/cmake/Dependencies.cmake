find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(ZLIB REQUIRED)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(dnnl 3.2 REQUIRED)
find_package(Gloo REQUIRED)
find_package(GTest REQUIRED)
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

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
