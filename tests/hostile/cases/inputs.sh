# SPDX-License-Identifier: Apache-2.0
# Inputs of `run` that are missing, of another name, type, rank or size, or no file of their kind.
npy x.npy '<f4' '2, 4' 32
npy ids.npy '<i8' '3,' 24
refuse 3 "input 'x' is missing: give -i x=FILE, or --random SEED to make one" run "$mlp" -i ids=ids.npy -o out
refuse 3 "the model has no input 'y'; its first is 'x'" run "$mlp" -i y=x.npy -o out
refuse 3 "the model has no input 'idz', did you mean 'ids'\?" run "$mlp" -i idz=x.npy -o out
refuse 2 "option '--input': 'x' is not NAME=FILE" run "$mlp" -i x -o out
refuse 2 "input 'x' is given twice" run "$mlp" -i x=x.npy -i x=x.npy -i ids=ids.npy -o out
refuse 3 "'nowhere.npy': No such file or directory" run "$mlp" -i x=nowhere.npy -i ids=ids.npy -o out
refuse 2 "'x.txt' is no .npy, .pb or .wav file" run "$mlp" -i x=x.txt -i ids=ids.npy -o out
npy double.npy '<f8' '2, 4' 64
refuse 3 "input 'x' is double, want float" run "$mlp" -i x=double.npy -i ids=ids.npy -o out
npy flat.npy '<f4' '8,' 32
refuse 3 "input 'x' has rank 1, want 2" run "$mlp" -i x=flat.npy -i ids=ids.npy -o out
npy wide.npy '<f4' '2, 5' 40
refuse 3 "input 'x' has size 5 in dim 1, want 4" run "$mlp" -i x=wide.npy -i ids=ids.npy -o out
ranks="1 2"
npy far.npy '<i8' '3,' 16
printf '\x63\0\0\0\0\0\0\0' >> far.npy
refuse 3 "'$mlp/model.onnx': node 't' \(Gather\): .*99.*" run "$mlp" -i x=x.npy -i ids=far.npy -o out
ranks=1
for ((n = 0; n < 112; n += 9)); do
    head -c "$n" x.npy > cut.npy
    refuse 3 "'cut.npy'.*" run "$mlp" -i x=cut.npy -i ids=ids.npy -o out
done
npy huge.npy '<f4' '1000000000000, 4000000000' 32
refuse 3 "'huge.npy'.*" run "$mlp" -i x=huge.npy -i ids=ids.npy -o out
npy object.npy '|O' '2, 4' 32
refuse 3 "'object.npy'.*" run "$mlp" -i x=object.npy -i ids=ids.npy -o out
printf 'not a tensor\n' > text.pb
: > empty.pb
refuse 3 ".*text.pb.*" run "$mlp" -i x=text.pb -i ids=ids.npy -o out
refuse 3 ".*empty.pb.*" run "$mlp" -i x=empty.pb -i ids=ids.npy -o out
mkdir folder.npy
refuse 3 "'folder.npy': is a directory, want a regular file" run "$mlp" -i x=folder.npy -i ids=ids.npy -o out
# sizes of dims that the model leaves open
refuse 2 "input 'x' has no size in dim 0 \('N'\): give -d N=N" run "$mlp" --random 1 -o out
refuse 2 "input 'ids' has no size in dim 0 \('K'\): give -d K=N" run "$mlp" -i x=x.npy --random 1 -o out
refuse 2 "input 'x' has no size in dim 0 \('N'\): give -d N=N" bench "$mlp"
refuse 2 "option '--dim': the model has no dim 'idz', did you mean 'ids'\?" run "$mlp" --random 1 -d idz=3
refuse 2 "option '--dim': 'N' is both 2 and 3" run "$mlp" --random 1 -d N=2 -d N=3
refuse 2 "option '--dim': '2x4x1' has 3 dims, input 'x' has 2" run "$mlp" --random 1 -d x=2x4x1
refuse 2 "input 'x' has size 5 in dim 1, want 4" run "$mlp" --random 1 -d x=2x5
refuse 3 "input 'x' has size 2 in dim 0 \('N'\), want 3" run "$mlp" -i x=x.npy --random 1 -d N=3
refuse 3 "input 'x' of these dims: out of memory: 16000000000000 bytes wanted" run "$mlp" --random 1 -d N=1000000000000 -d K=1
refuse 2 "option '--random': .*" run "$mlp" --random x
