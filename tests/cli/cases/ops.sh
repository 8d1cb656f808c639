# The table of operators, and one of them at each version.
stagecoach ops | grep -E ' (operator|Clip|Det|If|QuantizeLinear) '
stagecoach ops Gelu
stagecoach ops Gellu
