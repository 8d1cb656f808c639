# SPDX-License-Identifier: Apache-2.0
# What other loaders fell for: ranks of attributes that do not agree, indices that are negative or wrap at 32 bits, trip
# counts without end, ranks and sizes that are absurd, one file under the name of another kind.
head='ir 10
opset ai.onnx 21
in x float 1 2 6 6
weight k float 3 2 3 3'
npy x.npy '<f4' '1, 2, 6, 6' 288
everywhere() { make_model bad.onnx; ranks="1 2" refuse 3 "'bad.onnx': $1" run bad.onnx -i x=x.npy; }
with() { printf '%s\n' "$head" "$1" "out y float ${2-}"; } # NODE DIMS

# attributes of convolution and pooling against the rank of what they are for
with 'node Conv x,k -> y kernel_shape=I:3' 1 3 4 4 | everywhere "node 'y' \(Conv\): .*kernel_shape.*"
with 'node Conv x,k -> y dilations=I:1,1,1' 1 3 4 4 | everywhere "node 'y' \(Conv\): .*dilations.*"
with 'node Conv x,k -> y strides=I:0,1' 1 3 4 4 | everywhere "node 'y' \(Conv\): .*stride.*"
with 'node Conv x,k -> y dilations=I:-1,1' 1 3 4 4 | everywhere "node 'y' \(Conv\): .*dilation.*"
with 'node Conv x,k -> y pads=I:1,1,1' 1 3 4 4 | everywhere "node 'y' \(Conv\): .*pads.*"
with 'node Conv x,k -> y group=i:0' 1 3 4 4 | everywhere "node 'y' \(Conv\): .*group.*"
with 'node Conv x,k -> y kernel_shape=I:9223372036854775807,3' 1 3 4 4 | everywhere "node 'y' \(Conv\): .*"
with 'node MaxPool x -> y kernel_shape=I:2' 1 2 5 5 | everywhere "node 'y' \(MaxPool\): .*kernel_shape.*"
with 'node MaxPool x -> y kernel_shape=I:2,2 dilations=I:1' 1 2 5 5 | everywhere "node 'y' \(MaxPool\): .*dilations.*"
with 'node Transpose x -> y perm=I:0,1,1,3' 1 2 6 6 | everywhere "node 'y' \(Transpose\): .*perm.*"

# 2^32 is not 0, and -7 is outside six
for index in 4294967296 -7 6 9223372036854775807; do
    printf '%s\n' "$head" "weight i int64 1 = $index" 'node Gather x,i -> y axis=i:2' 'out y float 1 2 1 6' |
        everywhere "node 'y' \(Gather\): .*$index.*"
done
printf '%s\n' "$head" 'weight n int64 1 = 4294967298' 'node TopK x,n -> y,j axis=i:2' 'out y float' |
    everywhere "node '[yj]' \(TopK\): .*4294967298.*"
printf '%s\n' "$head" 'weight n int64 4 = 1 1 4294967297 4294967297' 'node Tile x,n -> y' 'out y float' |
    everywhere "this rank needs 64.0 TiB of memory \(.*\) and has .*"
printf '%s\n' "$head" 'weight n int64 3 = 1099511627776 1099511627776 4' 'node Expand x,n -> y' 'out y float' |
    everywhere "node 'y' \(Expand\): .*"
printf '%s\n' "$head" 'weight n int64 2 = -1 4294967296' 'node Reshape x,n -> y' 'out y float' |
    everywhere "node 'y' \(Reshape\): .*"
printf '%s\n' "$head" 'node ConstantOfShape n -> y' 'weight n int64 2 = 4611686018427387904 4' 'out y float' |
    everywhere ".*"

# a body that ends itself after three trips, whatever the count, and a count below zero
loop() # COUNT
{
    cat << END
ir 10
opset ai.onnx 21
in x float 1 2 6 6
weight trips int64 = $1
weight two int64 = 2
weight go bool = 1
graph body
in i int64
in keep bool
node Less i,two -> more
node Cast i -> row to=i:1
out more bool
out row float
end
node Loop trips,go -> rows body=g:body
node Flatten x -> flat
out rows float N
out flat float 1 72
END
}
for count in 4294967296 9223372036854775807 -1 -4294967293; do
    loop $count | make_model loop.onnx
    ranks="1 2" accept run loop.onnx -i x=x.npy
    want=3
    [ $count -gt 0 ] || want=0
    grep -qx "rows float\[$want\]" ../out || complain 2 "$(cat ../out), want $want trips" run loop.onnx
done

# ranks
ones=$(printf '1 %.0s' {1..17})
printf '%s\n' 'ir 10' 'opset ai.onnx 21' "in x float $ones" 'node Neg x -> y' "out y float $ones" |
    everywhere "value 'x' has rank 17, want at most 16"
printf '%s\n' "$head" "weight w float $ones" 'node Add x,w -> y' 'out y float' |
    everywhere "tensor 'w' has rank 17, want at most 16"
ranks=1
npy deep.npy '<f4' "$(printf '1, %.0s' {1..17})" 4
refuse 3 "'deep.npy' has more than 16 dims" run "$mlp" -i x=deep.npy
npy negative.npy '<f4' '-2, 4' 32
refuse 3 "'negative.npy'.*" run "$mlp" -i x=negative.npy

# one kind of file for another
cp "$mlp/model.onnx" model.npy
cp "$mlp/model.onnx" model.pb
cp x.npy x.onnx
refuse 3 "'model.npy' is not a .npy file" run "$mlp" -i x=model.npy
refuse 3 "'model.pb'.*" run "$mlp" -i x=model.pb
refuse 3 "'x.onnx'.*" inspect x.onnx
refuse 3 "'?x.npy'?:.*" run "$mlp" --random 1 -d N=1 -d K=1 --plan x.npy

# genai_config.json
mkdir config
cp "$mlp/model.onnx" config/weights.onnx
genai() { printf '%s' "$1" > config/genai_config.json; refuse 3 "$2" inspect config; }
genai '' "'?config/genai_config.json.*"
genai '{"model": {"decoder": {"filename": ' "'?config/genai_config.json.*"
genai '{"model": {"decoder": {}}}' "'config/genai_config.json': model.decoder.filename is absent, want .*"
genai '{"model": {"decoder": {"filename": "../weights.onnx"}}}' "'config/genai_config.json': .*'\.\./weights.onnx'.*"
genai '{"model": {"decoder": {"filename": "/etc/passwd"}}}' "'config/genai_config.json': .*'/etc/passwd'.*"
genai '{"model": {"decoder": {"filename": "none.onnx"}}}' "'config/none.onnx': No such file or directory"
genai '{"model": {"decoder": {"filename": 7}}}' "'config/genai_config.json': .*"
genai '[[[[]]]]' "'config/genai_config.json': .*"
genai "$(printf '[%.0s' {1..100000})" "'?config/genai_config.json.*"
