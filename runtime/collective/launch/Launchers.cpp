// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/launch/Launchers.h"

namespace dlc {

#define TORCH_VARIABLES "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"

constexpr Launcher kLaunchers[] = {
    {"dlc train", "DLC_RENDEZVOUS", TORCH_VARIABLES, nullptr, Meet::Master},
    {"torchrun", "TORCHELASTIC_RUN_ID", TORCH_VARIABLES,
     "TORCHELASTIC_RESTART_COUNT", Meet::Master},
    {"Ray Train", "RAY_JOB_ID", TORCH_VARIABLES, nullptr, Meet::Master},
    {"Kubeflow PyTorchJob", "KUBERNETES_SERVICE_HOST", TORCH_VARIABLES, nullptr,
     Meet::Master},
    {"the environment", nullptr, TORCH_VARIABLES, nullptr, Meet::Master},
    {"Kubeflow TrainJob", nullptr, "PET_NODE_RANK", "PET_NNODES", nullptr,
     nullptr, nullptr, Meet::Master},
    {"an indexed Job", "WORLD_SIZE", "JOB_COMPLETION_INDEX", "WORLD_SIZE",
     nullptr, nullptr, nullptr, Meet::Master},
    {"Slurm", nullptr, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS|SLURM_NTASKS",
     "SLURM_LOCALID", nullptr, "SLURM_RESTART_COUNT", Meet::Slurm},
    {"Open MPI", nullptr, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr,
     Meet::Session},
    {"MVAPICH", nullptr, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE",
     "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", nullptr,
     Meet::Hydra},
    {"MVAPICH", nullptr, "MPIRUN_RANK", "MPIRUN_NPROCS",
     "MV2_COMM_WORLD_LOCAL_RANK", nullptr, nullptr, Meet::Master},
    {"MPICH", nullptr, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS", nullptr, Meet::Hydra},
    {"jsrun", nullptr, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE",
     "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_LOCAL_SIZE", nullptr,
     Meet::Master},
    {"Flux", nullptr, "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID",
     nullptr, nullptr, Meet::Master},
    {"PALS", nullptr, "PALS_RANKID", nullptr, "PALS_LOCAL_RANKID",
     "PALS_LOCAL_SIZE", nullptr, Meet::Master},
    {"PMIx", nullptr, "PMIX_RANK", nullptr, nullptr, nullptr, nullptr,
     Meet::Session},
};

#undef TORCH_VARIABLES

std::span<const Launcher> launchers() { return kLaunchers; }

} // namespace dlc
