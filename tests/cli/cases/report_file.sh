# --report: every field of the four commands is in docs/REPORT.md, every field there is in a report, and the figures fit together.
mkdir -p all/good/test_data_set_0
cp -r "$root/tests/data/graphs/skipping" "$root/tests/data/graphs/computed_shape" all/
cp "$root/examples/embed/model.onnx" all/good/model.onnx
{
    stagecoach launch -n 2 -- run "$root/examples/embed/model.onnx" --random 1 -d batch=2 -d n=3 --report run.json
    stagecoach bench "$root/examples/embed/model.onnx" -d batch=2 -d n=3 -r 2 --report bench.json
    stagecoach launch -n 3 -- bench "$root/examples/embed/model.onnx" -d batch=2 -d n=3 -r 1 --report fewer.json
    stagecoach verify all --report verify.json || echo "exit code $?"
    stagecoach launch -n 2 -- generate "$root/examples/shakespeare" -p "ROMEO:" -n 3 --temp 0 --report generate.json
    stagecoach plan "$root/examples/shakespeare" -pp 2 -o plan.json
    stagecoach launch -n 2 -- generate "$root/examples/shakespeare" -p "ROMEO:" -n 3 --temp 0 --prefill-plan plan.json \
        --decode-plan plan.json --report apart.json
} > out 2> err
python3 - "$root/docs/REPORT.md" << 'PY'
import json, re, sys

def fields(node, path=""):
    if isinstance(node, dict) and not path.endswith("model.opsets"):
        for key, value in node.items():
            yield from fields(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list) and node and isinstance(node[0], dict):
        for item in node:
            yield from fields(item, path + "[]")
    else:
        yield path

found = set()
reports = {name: json.load(open(name + ".json")) for name in ("run", "bench", "fewer", "verify", "generate", "apart")}
for report in reports.values():
    found |= {re.sub(r"^cases\[\]\.(model|plan|ranks)", r"\1", re.sub(r"^(prefill_plan)\..*", r"\1", field)) for field in fields(report)}
documented = set()
for line in open(sys.argv[1]):
    names = re.findall(r"`([^`]*)`", line.split(" | ")[0]) if line.startswith("| `") else []
    documented |= {name if i == 0 else names[0].rsplit(".", 1)[0] + "." + name for i, name in enumerate(names)}
print("not documented:", sorted(found - documented))
print("not found:", sorted(documented - found))
run = reports["run"]
print(run["command"], run["outputs"], [stage["rank"] for stage in run["plan"]["stages"]])
for report in reports.values():
    for part in report.get("cases", [report]):
        if "plan" in part:
            assert sum(stage["nodes"] for stage in part["plan"]["stages"]) <= part["model"]["nodes"]
            assert sorted(s for rank in part["ranks"] for s in rank["stages"]) == list(range(sum(len(part.get(p, {"stages": []})["stages"]) for p in ("plan", "prefill_plan"))))
for rank in reports["generate"]["ranks"]:
    assert rank["busy_seconds"] > 0 and rank["busy_seconds"] <= reports["generate"]["timings"]["total_seconds"]
    assert abs(rank["measured_seconds"] * rank["microbatches"] - rank["busy_seconds"]) < 1e-9
for stages, ranks in ((r["plan"]["stages"], r["ranks"]) for r in (reports["run"], reports["bench"], reports["generate"])):
    for rank in ranks: # its stages together are what it did
        of_stages = sum(stages[s]["measured_seconds"] * stages[s]["microbatches"] for s in rank["stages"])
        assert abs(of_stages - rank["busy_seconds"]) < 1e-6 and all(stages[s]["measured_seconds"] > 0 for s in rank["stages"])
for stage in reports["generate"]["plan"]["stages"]: # one prompt of several tokens, then steps
    chunk, steps = stage["measured_chunk_seconds"], stage["microbatches"] - stage["chunks"]
    assert stage["chunks"] == 1 and steps == 2 and 0 < chunk < stage["measured_seconds"] * stage["microbatches"]
assert all("chunks" not in stage for stage in reports["apart"]["plan"]["stages"])
print([stage["chunks"] for stage in reports["apart"]["prefill_plan"]["stages"]])
print(reports["generate"]["generation"]["tokens"], reports["generate"]["generation"]["stopped"])
for case in reports["verify"]["cases"]:
    print(case["folder"], case["result"], case.get("message", ""))
PY
# a path where no file can be made is refused before anything is computed
stagecoach run "$root/examples/embed/model.onnx" --random 1 -d batch=2 -d n=3 --report no/such/report.json
