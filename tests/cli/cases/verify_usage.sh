# What the command line has wrong is no verdict on a model: exit code 2, or 3 for a plan, as elsewhere.
sum="$root/tests/data/graphs/running_sum" embed="$root/examples/embed"
echo '{"format": 1, "stages": [{"ranks": [0], "nodes": ["nothing"]}]}' > other.json
say() { stagecoach verify "$@" 2>&1 | sed "s,$root/,,"; echo "${PIPESTATUS[0]}"; }
say "$sum" --state zz=1
say "$sum" --pin 4
say "$sum" --override x
say "$sum" --plan nowhere.json
say "$sum" --plan other.json
say "$sum" -d x=1
say "$embed" -d batch=2 -d n=2 -pp 2 --plan other.json
for option in "--plans 3" "--state x=y" "--rtol 1"; do
    say "$embed" -d batch=2 -d n=2 -pp 2 $option
done
say "$embed" -pp 2
