# One scale for all rows of a microbatch: texts depend on chunks, and inspect says so.
stagecoach inspect "$root/tests/data/graphs/mixed_rows" | sed -n '/^states/,/^operators/p'
