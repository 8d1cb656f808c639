# A trace names every rank, and each computed microbatch once a stage: 3 tokens of prompt and 3 more, the last of which is not fed.
stagecoach launch -n 2 -- generate "$root/examples/shakespeare" -p "ROMEO:" -n 3 --temp 0 -pp 2 --trace t.json > /dev/null 2>&1
python3 - <<'PY'
import json
events = json.load(open("t.json"))["traceEvents"]
names = [e["args"]["name"].split(" on ")[0] for e in events if e["ph"] == "M"]
print(names)
for rank in 0, 1:
    computed = [e["args"]["microbatch"] for e in events if e["ph"] == "X" and e["pid"] == rank and e["name"] == "compute"]
    print(rank, computed, all(e["dur"] >= 0 for e in events if e["ph"] == "X"))
PY
