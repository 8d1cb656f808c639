# --for: a decoder is cut for a step and a chunk in turn, or for one of them, which its file says.
model=$root/examples/shakespeare
for aim in both steps prompts; do
    stagecoach plan "$model" -pp 2 --for $aim -o $aim.json > table
    stagecoach plan "$model" --plan $aim.json > again
    grep -o '^slowest stage .* for a [a-z ]*' table | sed 's/[0-9.]* [mu]*s //'
    diff table again
    sed -n 's/^ *\("for": *"[a-z]*"\).*/\1/p' $aim.json
done
# logits weigh more in a step: then their stage has fewer layers' caches
python3 -c 'import json
print(*(json.load(open(f"{aim}.json"))["stages"][1]["state_bytes"] for aim in ("steps", "both", "prompts")))'
stagecoach plan "$root/examples/embed" -pp 2 --for steps 2>&1 | sed "s|$root||"
stagecoach plan "$model" -pp 2 --for speed
