# A signal amid a file of requests: all that began is printed, as far as it came, and the others are cut short.
python3 -c '
for i in range(40):
    print("{\"prompt\": \"ROMEO:\", \"n_predict\": %d, \"ignore_eos\": true}" % (3 if i == 0 else 900))' > p.jsonl
stagecoach generate "$root/examples/shakespeare" -f p.jsonl -np 4 > made 2> err &
pid=$!
for ((i = 0; i < 600; i++)); do
    [ -s made ] && break
    sleep 0.1
done
kill -INT $pid
wait $pid || echo "exit $?"
tail -n 1 err
python3 -c '
import json
made = [json.loads(line) for line in open("made")]
print(len(made), made[0]["finish_reason"], len(made[0]["tokens"]), {m["finish_reason"] for m in made[1:]})
print(any(m["tokens"] for m in made[1:5]), any(m["tokens"] for m in made[30:]))'
