# SPDX-License-Identifier: Apache-2.0
# Plans that cannot be followed.
stagecoach plan "$decoder" -pp 2 -o good.json > /dev/null
stagecoach plan "$mlp" -pp 2 -o other.json > /dev/null
g="generate $decoder -p x -n 2 --plan"
refuse 3 "'?other.json'?.*" $g other.json
refuse 3 "'nowhere.json': No such file or directory" $g nowhere.json
ranks=1 refuse 3 ".*stage 1 on rank 1, the job has 1.*" $g good.json
ranks="1 2"
bad() # TEXT PATTERN
{
    printf '%s' "$1" > bad.json
    refuse 3 "'?bad.json'?.*$2.*" $g bad.json
}
all=$(sed -n '/"nodes"/,/]/p' good.json | grep -v -e nodes -e ']' | tr -d ' \n' | sed 's/""/","/g')
bad '' ''
bad '{"format": 99' ''
bad '{"format": 99, "stages": []}' format
bad '[]' ''
bad '{"format": 1}' stages
bad '{"format": 1, "stages": []}' stage
bad '{"format": 1, "stages": 7}' stages
bad '{"format": 1, "stages": [{"ranks": [0], "nodes": ["nothing"]}]}' nothing
bad '{"format": 1, "stages": [{"ranks": [0], "nodes": []}]}' ''
bad '{"format": 1, "stages": [{"ranks": [], "nodes": ["e..logits"]}]}' rank
bad '{"format": 1, "stages": [{"ranks": [-1], "nodes": ["e..logits"]}]}' rank
bad '{"format": 1, "stages": [{"ranks": [99], "nodes": ["e..logits"]}]}' ''
bad '{"format": 1, "stages": [{"ranks": [0], "nodes": ["logits..e"]}]}' ''
bad '{"format": 1, "stages": [{"ranks": [0], "nodes": ["e..logits", "e"]}]}' "e'"
bad '{"format": 1, "stages": [{"ranks": [0], "nodes": ["e..r"]}]}' logits
bad '{"format": 1, "model": "0123456789abcdef", "stages": [{"ranks": [0], "nodes": ["e..logits"]}]}' ''
bad '{"format": 1, "model": "xyz", "stages": [{"ranks": [0], "nodes": ["e..logits"]}]}' ''
bad '{"format": 1, "stages": [{"ranks": [0], "nodes": ["e..n", "a"]}, {"ranks": [0], "nodes": ["q0..k", "o..logits"]}]}' ''
bad '{"format": 1, "stages": [{"ranks": [0], "nodes": "e..logits"}]}' nodes
ranks=1
bytes=$(stat -c %s good.json)
for ((n = 0; n < bytes - 4; n += 23)); do
    head -c "$n" good.json > cut.json
    refuse 3 "'?cut.json'?.*" $g cut.json
done
