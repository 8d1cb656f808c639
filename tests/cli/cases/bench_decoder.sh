# A decoder's table has a row for the prompt and one for generation; the plan and the ranks go to stderr.
stagecoach bench "$root/examples/shakespeare" -p 16 -n 4 -r 2 -t 1 2> err | sed 's/[0-9.]* ± [0-9.]*/R/'
grep -c '^rank  host' err
stagecoach bench "$root/examples/shakespeare" -p 16 -n 0 -r 2 -t 1 -o csv 2> /dev/null | cut -d , -f 1-7
stagecoach bench "$root/examples/shakespeare" -p 16 -n 4 -r 1 -t 1 -np 4 -d 20 2> /dev/null | tail -n 5 | sed 's/ *[0-9]*\.[0-9]* |/ R |/g'
stagecoach bench "$root/tests/exports/models/bloom_optimum16" -p 4 -n 4 -r 1 -d 5 2>&1 | tail -n 1
stagecoach bench "$root/examples/shakespeare" -p 16 -n 4 -r 2 -t 1 -np 3 -o csv 2> /dev/null | cut -d , -f 1-7 | grep -E "before|during|beside"
stagecoach bench "$root/examples/shakespeare" -p 0 -n 0 2>&1 || echo "exit code $?"
