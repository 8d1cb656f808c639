# The first three are told by LSTM and GRU, the others by the user.
stagecoach inspect "$root/tests/data/states/lstm" --state h.last=h.next --state c.last=c.next | sed -n '/^states/,/^operators/p'
