# Which context a plan goes by that nobody gave: a table's, or one that is assumed; none is said where one was given.
models=$root/tests/exports/models
stagecoach plan "$models/opt_optimum17" | grep '^note'
stagecoach plan "$models/opt_optimum17" -c 100 | grep -c '^note' || true
stagecoach plan "$models/llama_optimum16" | grep '^note'
stagecoach inspect "$models/opt_optimum17" -d batch_size=1 | grep -o '[0-9]* positions.*'
stagecoach inspect "$models/opt_optimum17" -d past_sequence_length=288 | grep -o '[0-9]* positions.*'
stagecoach plan "$models/opt_optimum17" -c 289
