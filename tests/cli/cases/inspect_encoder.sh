# Keys and values of cross-attention are states that never change: shown, planned for, and given like other inputs.
m=$root/tests/exports/models/t5_optimum15_decoder_with_past
stagecoach inspect "$m" | sed -n '/^states/,/^operators/p'
stagecoach plan "$m" -pp 2 | grep -c ' ->'
stagecoach bench "$m"
