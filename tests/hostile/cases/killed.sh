# SPDX-License-Identifier: Apache-2.0
# A rank that dies at any moment ends the job within seconds, named; so does a launcher or mpirun that dies.
mkdir long
sed 's/ 64 2$/ 100000 2/' "$root/tests/hostile/models/decoder.txt" | make_model long/model.onnx
cp "$decoder/tokenizer.json" long/
mark=long.$$ # an argument that tells our processes from others
ln -s long "$mark"

trap 'kill "$job" 2> /dev/null' EXIT # what a failure leaves

start()
{
    rm -f ../out
    timeout -k 1 60 stagecoach launch -n 3 -- generate "$mark" -p x -n 100000 -c 100000 --ignore-eos -pp 3 \
        > ../out 2> ../err < /dev/null &
    job=$!
}
rank_pid() # RANK
{
    local pid
    for pid in $(pgrep -f "generate $mark"); do
        if tr '\0' '\n' < "/proc/$pid/environ" 2> /dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1"; then
            echo "$pid"
            return
        fi
    done
}
gone_soon()
{
    local i
    for ((i = 0; i < 100; i++)); do
        pgrep -f "generate $mark" > /dev/null || return 0
        sleep 0.1
    done
    return 1
}
told() # CODE PATTERN WHAT
{
    local since=$SECONDS
    code=0
    wait "$job" || code=$?
    [ "$code" = "$1" ] || complain 3 "exit code $code, want $1" "$3"
    [ $((SECONDS - since)) -le 8 ] || complain 3 "$((SECONDS - since)) seconds until the job ended" "$3"
    sed -i '/^stagecoach/!d' ../err
    [ "$(wc -l < ../err)" = 1 ] && grep -Eqx "stagecoach: $2" ../err || complain 3 "stderr is not one line '$2'" "$3"
    gone_soon || complain 3 "processes are left" "$3"
}

for moment in 0 0.1 0.3 1; do
    for rank in 0 1 2; do
        start
        for ((i = 0; i < 200; i++)); do
            pid=$(rank_pid $rank)
            [ -n "$pid" ] && break
            sleep 0.02
        done
        sleep $moment
        kill -9 "$pid"
        told 137 "rank $rank on host '.*' was killed by signal 9 \(Killed\)" "rank $rank killed after $moment s"
    done
done
start
until [ -s ../out ]; do sleep 0.1; done
kill -9 "$(pgrep -f "^mpirun .*generate $mark" | head -n 1)"
told 137 "mpirun was killed by signal 9" "mpirun killed"
start
until [ -s ../out ]; do sleep 0.1; done
disown "$job" # else bash says that it was killed
kill -9 "$(pgrep -f "^stagecoach launch .*generate $mark" | head -n 1)"
gone_soon || complain 3 "processes are left" "launcher killed"
