# Every way of running gives the bits of the first one: whole, in 2 to 4 stages, by random plans.
stagecoach launch -n 3 -- verify --bits --plans 5 -pp 1 "$root/tests/data/graphs/skipping" "$root/tests/data/graphs/branches" 2> /dev/null | sed "s,$root/,,"
