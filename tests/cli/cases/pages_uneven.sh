# Three pages of caches for everybody, ranks with more and fewer layers, two plans and narrow caches: who does not fit waits, who never
# can is refused, and texts are those that come one after another from one rank.
model=$root/examples/shakespeare
generate() # RANKS FLAGS...
{
    stagecoach launch -n "$1" -- generate "$model" -f in.jsonl -t 1 -c 256 -ctk q8_0 -ctv f16 --temp 0.8 --seed 3 "${@:2}" 2> err || echo "exit $?" >> exits
}
texts() # what was shared differs
{
    python3 -c 'import json, sys
for line in sorted(map(json.loads, sys.stdin), key=lambda l: l["index"]): print(line["index"], line["tokens"], line.get("error"))'
}
python3 -c 'import json
line = "But soft, what light through yonder window breaks? "
ask = lambda n, made: print(json.dumps({"prompt": f"{n}. " + line * (n % 4), "n_predict": made, "ignore_eos": True}))
for n in range(12): ask(n, 10 + 17 * n % 60)
ask(3, 180)' > in.jsonl
stagecoach plan "$model" -pp 2 --random-plan 4 -o decode.json > /dev/null
stagecoach plan "$model" -pp 3 --random-plan 2 -o prefill.json > /dev/null
generate 1 -np 1 --kv-size 192 | texts > whole
generate 3 -np 6 --kv-size 192 --plan prefill.json --report joined.json | texts | cmp - whole
generate 3 -np 6 --kv-size 192 -ub 20 --prefill-plan prefill.json --decode-plan decode.json --report apart.json | texts | cmp - whole
generate 3 -np 6 --kv-size 192 -ub 20 --prefill-plan decode.json --decode-plan prefill.json | texts | cmp - whole
sort exits | uniq -c
tail -n 1 whole
wc -l < whole
python3 -c 'import json
for name in "joined", "apart":
    print([r["memory"]["measured"]["state_bytes"] for r in json.load(open(name + ".json"))["ranks"]])'
