# A text that is saved on some ranks goes on on others, and one that changes its plan on the way stays as it is.
model=$root/examples/shakespeare
generate()
{
    n=$1
    shift
    stagecoach launch -n "$n" -- generate "$model" --seed 3 "$@" 2> err
}
generate 1 -p "ROMEO:" -n 60 > whole
generate 3 -p "ROMEO:" -n 25 --save-state a.state > first
generate 2 --load-state a.state -n 20 --save-state b.state > second
generate 4 --load-state b.state -n 15 -ub 1 > third
python3 -c 'print(open("first").read()[:-1] + open("second").read()[:-1] + open("third").read(), end="")' | cmp - whole
generate 1 --load-state a.state -p " Ho, who comes here?" -n 10 | head -c 20
echo
for seed in 1 2 3; do
    stagecoach plan "$model" -pp 3 --random-plan $seed -o plan.json > /dev/null
    generate 3 -p "ROMEO:" -n 60 --replan-at $((seed * 15)) --plan2 plan.json | cmp - whole
done
for i in 1 2 3 4 5 6; do
    echo "{\"prompt\": \"KING $i:\", \"n_predict\": $((10 + i * 3))}"
done > p.jsonl
show()
{
    python3 -c '
import json, sys
for line in sys.stdin:
    print(json.loads(line)["text"])'
}
generate 1 -f p.jsonl | show > texts
generate 3 -f p.jsonl -np 5 --replan-at 30 --plan2 plan.json | show | cmp - texts

fails()
{
    stagecoach generate "$@" -n 1 2>&1 > /dev/null | tail -n 1
    echo "exit code ${PIPESTATUS[0]}"
}
fails "$model" -f p.jsonl --load-state a.state
fails "$model" -p x --replan-at 5
fails "$model" -p x --replan-at 0 --plan2 none.json
head -c 70000 a.state > cut.state
fails "$model" --load-state cut.state
fails "$model" --load-state none.state
fails "$model" --load-state a.state -c 16
fails "$model" --load-state a.state --save-state none/b.state
stagecoach plan "$model" -pp 4 -o plan4.json > /dev/null
generate 2 -p "ROMEO:" -n 5 --replan-at 2 --plan2 plan4.json > /dev/null || tail -n 1 err
