# The completion script offers commands, then the options of the command, then the words of a choice.
stagecoach help --completion bash > completion
. ./completion
offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _stagecoach || :; echo "${COMPREPLY[*]}"; }
offer stagecoach gen
offer stagecoach generate m --top
offer stagecoach run m --gemm b
offer stagecoach launch -n 2 -- ver
offer stagecoach help com
offer stagecoach launch -n 2 -- generate m --top
