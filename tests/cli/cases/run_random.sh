# Inputs that are not given are made by their seed: the same on any number of ranks, others by another seed; outputs in the asked form.
m=$root/examples/embed/model.onnx
stagecoach run "$m" --random 1 -d batch=2 -d n=3 -o a
stagecoach launch -n 2 -- run "$m" --random 1 -d x=2x3 -d n=3 -o b -pp 2
cmp a/y.npy b/y.npy
stagecoach run "$m" --random 2 -d batch=2 -d n=3 -o c > /dev/null
cmp -s a/y.npy c/y.npy && echo "another seed, the same output"
stagecoach run "$m" --random 1 -d batch=2 -d n=3 -o a --format pb
stagecoach run "$m" -i x=a/y.npy --random 1 -d n=1 -o d
ls a b c d
