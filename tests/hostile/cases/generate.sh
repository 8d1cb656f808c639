# SPDX-License-Identifier: Apache-2.0
# What `generate` is given that cannot be: options that contradict each other, states that are none, files that cannot be
# written, which is said before a word of text.
g="generate $decoder -p to -n 3"
key=past_key_values.0.key
: > u.jsonl
refuse 2 "options '--prompt' and '--file' exclude each other" $g -f u.jsonl
refuse 2 "options '--file' and '--audio' exclude each other" generate "$decoder" -f u.jsonl --audio x.wav
refuse 2 "option '--state': '$key' goes on from 'present.0.key', which an operator makes of it, not from 'logits'" $g --state $key=logits
refuse 2 "option '--state': input '$key' is given twice" $g --state $key=present.0.key --state $key=present.0.value
mkdir folder
refuse 3 "a file cannot be written under an empty name" $g --save-state ""
ranks=1
for option in save-state trace report; do
    refuse 3 "'folder': Is a directory" $g --$option folder
    refuse 3 "'no/such' cannot be written: folder 'no': No such file or directory" $g --$option no/such
done
for state in = x x= =x $key $key= =present.0.key $key=$key logits=input_ids; do
    refuse 2 "option '--state': '$state' is not IN=OUT, an input and an output of the model" $g --state $state
done
refuse 3 "state 'input_ids' is int64, but its continuation 'logits' is float" $g --state input_ids=logits
refuse 2 "option '--language' is for models that read sound, .*" $g --language en
refuse 2 "options '--replan-at' and '--plan2' go together" $g --replan-at 2
refuse 3 "12 stages asked for, .*" $g -pp 12
stagecoach plan "$decoder" -pp 1 -o one.json > /dev/null
stagecoach plan "$mlp" -pp 1 -o other.json > /dev/null
refuse 2 "'one.json' has 1 stages, option '-pp' asks for 2" $g --plan one.json -pp 2
refuse 2 "options '--plan' and '--random-plan' exclude each other" $g --plan one.json --random-plan 3
accept $g --plan one.json -pp 1
accept $g --replan-at 1000000 --plan2 one.json
sed 's/\[0\]/[7]/; s/^ *0$/7/' one.json > far.json
head -c 90 one.json > cut.json
report=yes
for ranks in 1 3; do
    refuse 3 "'far.json' puts stage 0 on rank 7, the job has $ranks" $g --replan-at 2 --plan2 far.json
    refuse 3 "cut.json:.*" $g --replan-at 2 --plan2 cut.json
    refuse 3 "'?other.json'?.*another model.*" $g --replan-at 2 --plan2 other.json
done
output=/dev/null # the prompt was printed
mkfifo pipe
for option in save-state trace report; do
    refuse 3 "'pipe': nobody reads from this pipe" $g --$option pipe
    refuse 3 "'/dev/full': No space left on device" $g --$option /dev/full
done
