# SPDX-License-Identifier: Apache-2.0
# Started by the launcher of another MPI, whose variables are there, every rank sees itself alone: one of them says so, none runs.
run="run $mlp --random 1 -d N=1 -d K=1"
foreign() # PATTERN, then the environment of the rank that speaks
{
    local pattern=$1
    shift
    export "$@"
    ranks=1 refuse 2 "the launcher \($pattern ranks, but the MPI of this program \(.*\) sees 1: start it with that MPI's own mpirun" $run
    unset "${@%%=*}"
}
silent() # the environment of another rank
{
    export "$@"
    on_ranks 1 $run
    [ "$code" = 2 ] && [ ! -s ../err ] && [ ! -s ../out ] || complain 1 "exit code $code or words in ${*}" $run
    unset "${@%%=*}"
}
foreign ".*PMI.*: PMI_SIZE=2\) started 2" PMI_SIZE=2 PMI_RANK=0
silent PMI_SIZE=2 PMI_RANK=1
foreign "MVAPICH: MV2_COMM_WORLD_SIZE=3\) started 3" MV2_COMM_WORLD_SIZE=3 MV2_COMM_WORLD_RANK=0
silent MV2_COMM_WORLD_SIZE=3 MV2_COMM_WORLD_RANK=2
foreign "Slurm: SLURM_STEP_NUM_TASKS=4\) started 4" SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0
silent SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=3
foreign "a PMIx launcher: SLURM_STEP_NUM_TASKS=4\) started 4" SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 PMIX_RANK=0
# who does not say how many there are: rank 0 may be alone, as under mpirun -n 1; rank 1 cannot be
foreign "a PMIx launcher: PMIX_RANK=1\) started at least 2" PMIX_RANK=1
silent PMIX_RANK=2
