# SPDX-License-Identifier: Apache-2.0
# Stages, ranks and memory that do not go together.
refuse 3 "50 stages asked for, but the graph can be cut into 11 at most" generate "$decoder" -p x -n 2 -pp 50
ranks=1 refuse 3 "50 stages asked for, but the graph can be cut into 11 at most" plan "$decoder" -pp 50
refuse 3 ".*memory.*" generate "$decoder" -p x -n 2 --memory 1K
ranks=1 refuse 3 ".*memory.*" plan "$decoder" -pp 2 --memory 1K
# more stages than ranks: a rank runs several
accept generate "$decoder" -p "to be" -n 3 --temp 0 -pp 4
# the context ends the text
accept generate "$decoder" -p "to be" -n 100 --temp 0 --ignore-eos -c 20
grep -q 'context is full' ../err || complain 3 "nothing says that the context is full"
ranks=1 refuse 2 "a context of .*" generate "$decoder" -p x -c 65
# nothing to write
accept generate "$decoder" -p "to be" -n 0
# more ranks than stages worth having
for n in 6; do
    on_ranks $n generate "$decoder" -p "to be" -n 3 --temp 0
    [ "$code" = 0 ] || complain $n "exit code $code" generate
    grep -q '[Nn]ote\|fewer' ../err || complain $n "nothing says that fewer ranks are used" generate
done
# a model that writes no text
refuse 3 ".*'logits'.*|.*tokenizer.json.*" generate "$mlp" -p x -n 2
cp "$decoder/tokenizer.json" "$mlp/"
refuse 3 "the model has no output 'logits': it does not generate text" generate "$mlp" -p x -n 2
rm "$mlp/tokenizer.json"
