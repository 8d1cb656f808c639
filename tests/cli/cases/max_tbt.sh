# A bound on the time between two tokens makes the chunks of prompts depend on time, and no text on that.
model=$root/examples/shakespeare
python3 -c '
import json
for i in range(9):
    print(json.dumps({"prompt": "What light through yonder window breaks? " * (i % 3) + "ROMEO:"[:i + 1], "n_predict": 9 + 5 * i}))' > p.jsonl
generate()
{
    n=$1
    shift
    stagecoach launch -n "$n" -- generate "$model" -f p.jsonl --seed 3 -np 4 -t 1 "$@" 2> err | python3 -c '
import json, sys
for line in sys.stdin:
    made = json.loads(line)
    print(json.dumps([made["index"], made["text"], made["tokens"], made["finish_reason"]]))'
}
generate 1 > free
wc -l < free
generate 1 --max-tbt 1 | cmp - free
generate 2 --max-tbt 1 | cmp - free
generate 3 --max-tbt 3 -ub 7 | cmp - free
generate 2 --max-tbt 100000 | cmp - free
refuse()
{
    stagecoach "$@" 2>&1 || echo "exit $?"
}
refuse generate "$model" -p A --max-tbt -1
refuse generate "$model" -p A --max-tbt soon
refuse bench "$model" --max-tbt 99999999999
refuse plan "$model" --max-tbt 5
refuse generate "$model" -p A --max-tbt 5 --prefill-plan p.json --decode-plan p.json
refuse generate "$model" -p A --max-tbt 5 --gemm blas
refuse bench "$root/tests/data/graphs/mixed_rows" --max-tbt 5 -p 4 -n 2 -r 1
