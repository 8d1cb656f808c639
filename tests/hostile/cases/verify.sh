# Among good data sets bad ones of every kind: each has its line, the others still count, on any number of ranks.
pb() # FILE BYTE: float[2,3] of six times that byte four times
{
    { printf '\x08\x02\x08\x03\x10\x01\x4a\x18'; for i in {1..24}; do printf "$2"; done; } > "$1"
}
folder() # NAME OPERATOR: a model and a data set that passes
{
    mkdir -p "all/$1/test_data_set_0"
    printf 'ir 10\nopset ai.onnx 23\nopset com.example 1\nin x float 2 3\nnode %s x -> y\nout y float 2 3\n' "$2" | make_model "all/$1/model.onnx"
    pb "all/$1/test_data_set_0/input_0.pb" '\0'
    pb "all/$1/test_data_set_0/output_0.pb" '\0'
}
for name in a_good cut differs empty_set model_cut no_input no_output no_set shape unknown z_good; do
    folder $name Relu
done
folder unknown Frobnicate@com.example
set=test_data_set_0
head -c 20 all/a_good/$set/input_0.pb > all/cut/$set/input_0.pb
pb all/differs/$set/output_0.pb '\x3f'
: > all/empty_set/$set/input_0.pb
head -c 60 all/a_good/model.onnx > all/model_cut/model.onnx
rm all/no_input/$set/input_0.pb all/no_output/$set/output_0.pb
rm -r all/no_set/$set
printf '\x08\x03\x08\x02\x10\x01\x4a\x18%024d' 0 > all/shape/$set/input_0.pb
for n in 1 2 3; do
    on_ranks $n verify all
    [ "$code" = 1 ] || complain $n "exit code $code, want 1" verify all
    [ "$(tail -n 1 ../out)" = "2 passed, 8 failed, 1 skipped" ] || complain $n "$(tail -n 1 ../out)" verify all
    grep -q '^stages used' ../err && [ "$(wc -l < ../err)" = 1 ] || complain $n "stderr" verify all
    for name in cut differs empty_set model_cut no_input no_output no_set shape; do
        [ "$(grep -c "^FAIL all/$name: .*" ../out)" = 1 ] || complain $n "not one line for $name" verify all
    done
    grep -q "^SKIP all/unknown: 'all/unknown/model.onnx': node 'y' (Frobnicate): " ../out || complain $n "no line for unknown" verify all
    sed '/^FAIL\|^SKIP/!d' ../out > "../told.$n"
    cmp -s ../told.1 "../told.$n" || complain $n "other lines than on one rank" verify all
done
# A model alone: what is missing to run it is bad usage, not a verdict.
refuse 2 "'.*': input 'x' has no size in dim 0 \('N'\): give -d N=N" verify "$mlp"
ranks=1 refuse 2 "'.*': there is no test_data_set_0, and one stage on one rank has nothing else to be compared with: .*" \
    verify "$mlp" -d N=2 -d K=2
ranks="2 3" accept verify "$mlp" -d N=2 -d K=2
