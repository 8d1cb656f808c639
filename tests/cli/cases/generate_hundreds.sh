# More requests at once than a microbatch has rows: the texts of a few at once, on one rank and on two.
model=$root/examples/shakespeare
for i in $(seq 130); do
    echo "{\"prompt\": \"KING $i:\", \"n_predict\": $((90 + i % 9)), \"seed\": $i}"
done > p.jsonl
texts()
{
    python3 -c '
import json, sys
for line in sys.stdin:
    print(json.loads(line)["text"])'
}
stagecoach generate "$model" -f p.jsonl -np 3 2> /dev/null | texts > few
wc -l < few
stagecoach generate "$model" -f p.jsonl -np 130 -c 128 2> err | texts | cmp - few
stagecoach launch -n 2 -- generate "$model" -f p.jsonl -np 110 -c 128 2> /dev/null | texts | cmp - few
stagecoach generate "$model" -f p.jsonl -np 1025 2>&1 | tail -n 1
