# Caches kept in fewer bits: less memory, a text that ranks, plans and company leave as it is, files of their own.
model=$root/examples/shakespeare
generate()
{
    n=$1
    shift
    stagecoach launch -n "$n" -- generate "$model" -p "ROMEO:" --seed 3 -n 60 "$@" 2> err
}
caches()
{
    stagecoach inspect "$model" -d past=1024 "$@" | grep -e '^  caches' -e '0.key ->' -e '0.value ->'
}
caches
caches -ctk f16 -ctv f16
caches -ctk q8_0 -ctv q8_0
stagecoach plan "$model" -pp 2 -ctk q8_0 -ctv bf16 | grep total
stagecoach plan "$model" -pp 3 --random-plan 1 -o prefill.json > /dev/null
stagecoach plan "$model" -pp 3 --random-plan 2 -o decode.json > /dev/null
generate 1 > plain
generate 1 -ctk f32 -ctv f32 | cmp - plain
for type in f16 bf16 q8_0; do
    generate 1 -ctk $type -ctv $type > alone
    generate 3 -ctk $type -ctv $type -ub 1 -t 2 | cmp - alone
    generate 3 -ctk $type -ctv $type -ub 1 --prefill-plan prefill.json --decode-plan decode.json | cmp - alone
    generate 2 -ctk $type -ctv $type -pp 2 --random-plan 4 -np 3 | cmp - alone
    stagecoach launch -n 2 -- generate "$model" -p "ROMEO:" --seed 3 -n 30 -ctk $type -ctv $type --save-state $type.state \
        2> err > first
    stagecoach launch -n 3 -- generate "$model" --load-state $type.state --seed 3 -n 30 -ctk $type -ctv $type 2> err > second
    python3 -c 'print(open("first").read()[:-1] + open("second").read(), end="")' | cmp - alone
done
fails()
{
    stagecoach "$@" -n 1 2>&1 > /dev/null | tail -n 1
    echo "exit code ${PIPESTATUS[0]}"
}
fails generate "$model" --load-state q8_0.state
fails generate "$model" --load-state q8_0.state -ctk f16 -ctv q8_0
fails generate "$model" -p x -ctk q4_0
stagecoach inspect "$root/tests/data/graphs/skipping" -ctk f16 2>&1 > /dev/null | tail -n 1
