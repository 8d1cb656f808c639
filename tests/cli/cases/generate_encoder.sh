# An encoder and its decoder in several files: the ids that ONNX Runtime's loop gives, merged or apart, alone or among others,
# on any ranks and plan.
"$root/tests/exports/together/lay" models
python3 -c '
import json
for i in range(7):
    print(json.dumps({"prompt": "hello, world"[: 12 - i % 3], "n_predict": 20 - i, "ignore_eos": True}))' > p.jsonl
tokens()
{
    python3 -c '
import json, sys
for line in sys.stdin:
    print(json.loads(line)["tokens"])'
}
for family in t5 bart; do
    stagecoach generate models/$family -f p.jsonl 2> /dev/null | tokens > one
    head -n 1 one | cmp - "$root/tests/exports/together/$family/read.txt"
    stagecoach generate models/${family}_apart -f p.jsonl -np 3 2> /dev/null | tokens | cmp - one
    stagecoach launch -n 3 -- generate models/${family} -f p.jsonl -np 5 -t 1 2> /dev/null | tokens | cmp - one
    stagecoach plan models/$family -pp 3 --random-plan 5 -o plan.json > /dev/null
    stagecoach launch -n 3 -- generate models/$family -f p.jsonl --plan plan.json 2> /dev/null | tokens | cmp - one
done
stagecoach generate models/t5 -p "hello, world" -n 20 2> /dev/null
