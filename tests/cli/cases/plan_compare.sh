# --compare: a line for each number of stages; no random plan beats the one that is made, and none is under its bound.
stagecoach plan "$root/examples/shakespeare" -pp 4 --compare > table
awk 'length($0) > 100 { print "over 100 columns: " $0 }' table
awk 'function us(value, unit) { return unit == "ms" ? value * 1000 : value }
    NR > 2 && !/^note/ {
        print $1, (us($2, $3) >= us($6, $7)), (us($10, $11) >= us($2, $3)), ($14 > last)
        last = $14
    }' table
stagecoach plan "$root/examples/embed" -pp 9 --compare | tail -n 2 | cut -c 1-60
stagecoach plan "$root/examples/embed" --compare
