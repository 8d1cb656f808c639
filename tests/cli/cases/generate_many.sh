# Requests of a file: the same texts however many run at once and on however many ranks; each bad line costs itself alone.
python3 -c '
import json
with open("p.jsonl", "wb") as f:
    for i in range(12):
        who = ("ROMEO:", "JULIET: O gentle", "KING HENRY: My lords, what")[i % 3]
        request = {"prompt": who + " " * (i % 2), "n_predict": 1 + 5 * i % 23, "temperature": i % 4 * 0.4, "id": str(i)}
        if i == 7:
            request["seed"] = 3
        f.write(json.dumps(request).encode() + b"\n")
    f.write(b"\n{\"prompt\": 5}\nno JSON\n{\"prompt\": \"\"}\n{\"prompt\": \"\xff\"}\n")
    f.write(b"{\"prompt\": \"" + b"x" * 10000000 + b"\"}\n")
    f.write(b"{\"prompt\": \"" + b"and so " * 100 + b"\"}\n")
    f.write(b"{\"prompt\": \"ROMEO:\", \"n_predict\": 500, \"ignore_eos\": true}")'
show()
{
    python3 -c '
import json, sys
for line in sys.stdin:
    made = json.loads(line)
    made.pop("timings", None)
    made.pop("shared_tokens")
    print(json.dumps(made))'
}
model=$root/examples/shakespeare
stagecoach generate "$model" -f p.jsonl -c 64 --seed 5 2> err | show > one
tail -n 1 err
stagecoach generate "$model" -f p.jsonl -c 64 --seed 5 -np 5 -ub 3 2> /dev/null | show | cmp - one
stagecoach generate "$model" -f p.jsonl -c 64 --seed 5 -np 5 --kv-size 128 2> /dev/null | show | cmp - one
stagecoach launch -n 3 -- generate "$model" -f p.jsonl -c 64 --seed 5 -np 8 -t 1 2> /dev/null | show | cmp - one
cut -c 1-150 one | grep error
stagecoach generate "$model" -p "JULIET: O gentle " -n 13 --temp 1.2 --seed 3 2> /dev/null |
    python3 -c '
import json, sys
made = [json.loads(line) for line in open("one")]
assert sys.stdin.read() == "JULIET: O gentle " + made[7]["text"] + "\n"
print(made[-1]["finish_reason"], len(made[-1]["tokens"]), sorted({m["finish_reason"] for m in made}))'
