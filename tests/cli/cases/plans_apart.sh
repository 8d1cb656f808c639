# Prompts by one plan and what follows by another: the same texts; and what makes no sense together is refused.
model=$root/examples/shakespeare
generate()
{
    n=$1
    shift
    stagecoach launch -n "$n" -- generate "$model" -p "ROMEO: What light through yonder window breaks?" -n 30 --seed 3 "$@" 2> err
}
for n in 1 2 3; do
    stagecoach plan "$model" -pp $n --random-plan $n -o plan$n.json > /dev/null
done
generate 1 > whole
for n in 1 2 3; do
    generate 3 --prefill-plan plan$n.json --decode-plan plan$((4 - n)).json -ub $((5 * n)) --save-state $n.state --report report.json | cmp - whole
    stagecoach generate "$model" --load-state $n.state -n 5 --temp 0 2> err | md5sum
done
generate 3 --prefill-plan plan3.json --decode-plan plan1.json --replan-at 9 --plan2 plan2.json | cmp - whole
# A text that is loaded lies with both plans: what follows it is read by that of prompts
more=" But soft, what light?"
stagecoach generate "$model" --load-state 1.state -p "$more" -n 9 --temp 0 2> err > loaded
for n in 1 2 3; do
    stagecoach launch -n 3 -- generate "$model" --load-state $n.state -p "$more" -n 9 --temp 0 --prefill-plan plan$n.json \
        --decode-plan plan$((4 - n)).json -ub 4 --save-state on$n.state 2> err | cmp - loaded
    cmp on1.state on$n.state
done
python3 -c 'import json
r = json.load(open("report.json"))
print(len(r["plan"]["stages"]), len(r["prefill_plan"]["stages"]), [x["stages"] for x in r["ranks"]])'
refuse()
{
    stagecoach generate "$model" -p A "$@" 2>&1 || echo "exit $?"
}
refuse --prefill-plan plan1.json
refuse --decode-plan plan1.json
refuse --prefill-plan plan1.json --decode-plan plan1.json -pp 1
refuse --prefill-plan plan1.json --decode-plan plan1.json --plan plan1.json
refuse --prefill-plan plan1.json --decode-plan plan1.json --replan-at 1 --plan2 missing.json | tail -n 2
refuse --prefill-plan plan2.json --decode-plan plan1.json
refuse --prefill-plan missing.json --decode-plan plan1.json
stagecoach bench "$root/tests/data/graphs/skipping" -d n=2 --prefill-plan plan1.json --decode-plan plan1.json 2>&1 | sed "s|$root||"
echo
