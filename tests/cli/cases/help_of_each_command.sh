# Every command that the overview lists has a help with usage, options and an example, and both ways to it agree.
for command in $(stagecoach help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    stagecoach "$command" --help > a
    stagecoach help "$command" > b
    cmp a b
    grep -q "^usage: stagecoach $command " a
    grep -q '^  -h, --help' a
    sed -n '/^examples:/,$p' a | grep -q "^  stagecoach $command"
    echo "$command"
done
