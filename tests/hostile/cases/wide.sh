# SPDX-License-Identifier: Apache-2.0
# A node with 20,000 inputs, of which each is a value of its own, and a graph with as many outputs.
{
    printf 'ir 10\nopset ai.onnx 23\nin x float 2\n'
    for i in {1..10000}; do printf 'node Neg x -> a%d\nnode Abs x -> b%d\n' "$i" "$i"; done
    printf 'node Concat a1,b1'
    printf ',a%d,b%d' $(for i in {2..10000}; do echo "$i $i"; done)
    printf ' -> y axis=i:0\nnode Neg y -> z\nout z float 40000\n'
} | make_model wide.onnx
{
    printf 'ir 10\nopset ai.onnx 23\nin x float 2\n'
    for i in {1..20000}; do printf 'node Neg x -> y%d\nout y%d float 2\n' "$i" "$i"; done
} | make_model outputs.onnx
npy x.npy '<f4' '2,' 8
limit=120
ranks="1 2" accept run wide.onnx -i x=x.npy
[ "$(cat ../out)" = "z float[40000]" ] || complain 2 "$(head -c 200 ../out)" run wide.onnx
ranks=2 accept run wide.onnx -i x=x.npy -pp 2
ranks="1 2" accept run outputs.onnx -i x=x.npy
[ "$(wc -l < ../out)" = 20000 ] || complain 2 "$(wc -l < ../out) outputs" run outputs.onnx
