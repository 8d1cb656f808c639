# Greedy text has no chance in it: the same words twice, and with one microbatch a token.
stagecoach generate "$root/examples/shakespeare" -p "ROMEO:" -n 12 --temp 0 > a 2> /dev/null
stagecoach generate "$root/examples/shakespeare" -p "ROMEO:" -n 12 --temp 0 -ub 1 > b 2> /dev/null
cmp a b
wc -l < a | grep -q '^[1-9]'
