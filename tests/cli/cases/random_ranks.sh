# What is drawn at random is the same on one and two threads, in 1 to 3 stages and by ten plans that put every operator on any
# rank; by the attribute seed under every --seed, else under the same one.
m=$root/tests/data/graphs/randoms/model.onnx
stagecoach run "$m" --seed 5 --format pb -o five 2> /dev/null > /dev/null
mkdir -p again/test_data_set_0
cp "$m" again/
i=0
for name in $(stagecoach inspect "$m" | awk '/^operators/ { exit } on { print $1 } /^outputs/ { on = 1 }'); do
    cp "five/$name.pb" "again/test_data_set_0/output_$((i++)).pb"
done
stagecoach launch -n 3 -- verify --seed 5 --bits --rtol 0 --atol 0 --plans 10 -pp 1 again 2> /dev/null | sed 's/BITS [0-9a-f]*/BITS/'
stagecoach launch -n 3 -- verify --seed 6 --rtol 0 --atol 0 -pp 3 again 2> /dev/null | sed 's/: test_data.*//'
stagecoach launch -n 2 -- run "$m" --seed 6 --format pb -o six -pp 2 2> /dev/null > /dev/null
for name in uniform normal uniform_like normal_like bernoulli multinomial dropout; do
    cmp "five/${name}_s.pb" "six/${name}_s.pb"
    cmp -s "five/$name.pb" "six/$name.pb" && echo "$name is the same by another seed"
done
true
