# The model file is cut short while ranks read from it.
mkdir long
sed 's/ 64 2$/ 100000 2/' "$root/tests/hostile/models/decoder.txt" | make_model whole.onnx
cp "$decoder/tokenizer.json" long/
for n in 1 3; do
    cp whole.onnx long/model.onnx
    set -- generate long -p x -n 100000 -c 100000 --ignore-eos
    [ $n = 1 ] || set -- launch -n $n -- "$@" -pp 3
    rm -f ../out
    timeout -k 1 60 stagecoach "$@" > ../out 2> ../err < /dev/null &
    until [ -s ../out ]; do sleep 0.05; done
    : > long/model.onnx
    code=0
    wait $! || code=$?
    sed -i '/^stagecoach/!d' ../err
    [ "$code" = 3 ] || complain $n "exit code $code, want 3" "$@"
    [ "$(sort -u ../err)" = "stagecoach: a file of the model was cut short while it was in use" ] ||
        complain $n "stderr is another" "$@"
done
