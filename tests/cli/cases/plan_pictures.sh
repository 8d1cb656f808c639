# plan draws itself for graphviz and as a page; a file that cannot be written is an error before the table.
stagecoach plan "$root/examples/shakespeare" -pp 3 --dot plan.dot --html plan.html > table
awk 'length($0) > 100 { print "over 100 columns: " $0 }' table
if command -v dot > /dev/null; then dot -Tsvg plan.dot > plan.svg; fi
grep -c 'stage [0-9] on rank [0-9]' plan.html
grep -c ' -> ' plan.dot
stagecoach plan "$root/examples/shakespeare" -pp 3 --html no/such/plan.html
