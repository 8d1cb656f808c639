# A merged decoder is cut in the branch that its mode takes, given or made at random: the same bits for any number of stages.
python3 -c '
for name, byte in (("true", b"\1"), ("false", b"\0")):
    head = b"{\"descr\": \"|b1\", \"fortran_order\": False, \"shape\": (1,), }".ljust(117) + b"\n"
    open(name + ".npy", "wb").write(b"\x93NUMPY\1\0v\0" + head + byte)'
for mode in true false; do
    for n in 1 2 3 4; do
        stagecoach run "$root/tests/data/merged" -i use_cache_branch=$mode.npy --random 1 -d batch_size=1 -d sequence_length=3 \
            -d past_sequence_length=0 -pp $n -o $mode.$n --report $mode.$n.json > /dev/null
        cmp $mode.1/logits.npy $mode.$n/logits.npy
        python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["plan"]["stages"]))' $mode.$n.json
    done
done
stagecoach verify --bits --plans 2 "$root/tests/data/graphs/branches" -pp 2 2>&1 | sed 's/BITS [0-9a-f]*/BITS/; s|: /.*|: MODEL|'
stagecoach bench "$root/tests/data/graphs/branches" -pp 3 -r 1 2> /dev/null | cut -d '|' -f 5-8
