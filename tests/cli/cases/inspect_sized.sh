# At given dims: shapes, and costs of the products by hand 2 * 4 * (3 * 4 + 4 * 2) = 160; a dim that is left open counts as 1.
stagecoach inspect "$root/examples/embed" -d batch=4 -d n=2 | sed -n '/^inputs/,/^operators/p; /^costs/,$p'
stagecoach inspect "$root/examples/embed" -d batch=4 | tail -n 1
stagecoach inspect "$root/examples/embed" -d batch=4 --dump | grep ' = '
stagecoach inspect "$root/tests/data/merged" -d batch_size=1 -d sequence_length=3 -d past_sequence_length=100 | tail -n 1
stagecoach inspect "$root/examples/embed" -d bat=4
