# Ranks of unequal memory get stages that fit: the plan asks each. A plan that puts too much on one is refused before anything loads.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
on_two() # MEMORY OF RANK 0, OF RANK 1, MORE...
{
    local first=$1 second=$2
    shift 2
    set -- stagecoach generate "$root/examples/shakespeare" -p "ROMEO:" -n 2 --temp 0 --threads 1 -pp 2 "$@"
    local code=0
    mpirun --oversubscribe --bind-to none -n 1 "$@" --memory "$first" : -n 1 "$@" --memory "$second" > out 2> err || code=$?
    echo "exit code $code"
}
fits() # BYTES BYTES
{
    python3 - "$@" <<'PY'
import json, sys
stages = json.load(open("report.json"))["plan"]["stages"]
print([stage["weight_bytes"] + stage["state_bytes"] <= int(most) for stage, most in zip(stages, sys.argv[1:])])
PY
}
on_two 14M 5M --report report.json
fits $((14 << 20)) $((5 << 20))
on_two 5M 14M --report report.json
fits $((5 << 20)) $((14 << 20))
on_two 14M 2M
grep "^stagecoach" err
stagecoach plan "$root/examples/shakespeare" -pp 2 -o plan.json > /dev/null
on_two 20M 5M --plan plan.json
grep "^stagecoach" err
on_two 20M 5M --replan-at 1 --plan2 plan.json
grep "^stagecoach" err
on_two 20M 9M --replan-at 1 --plan2 plan.json # 8.4M do, but for the caches on their way
grep "^stagecoach" err
on_two 20M 11M --replan-at 1 --plan2 plan.json
