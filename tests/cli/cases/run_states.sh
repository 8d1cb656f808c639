# States from .npy files go to their ranks in pieces and come back so, with the bits of ones that are sent whole, which .pb files are.
model=$root/examples/shakespeare
pasts() # FOLDER ENDING
{
    for layer in 0 1 2 3 4 5; do
        for what in key value; do
            echo "-i past_key_values.$layer.$what=$1/present.$layer.$what.$2"
        done
    done
}
stagecoach run "$model" --random 1 -d batch=2 -d sequence=70 -d past=0 -o first > /dev/null
stagecoach run "$model" --random 1 -d batch=2 -d sequence=70 -d past=0 -o first --format pb > /dev/null
stagecoach run "$model" $(pasts first pb) --random 2 -d sequence=3 -o whole | grep -e logits -e '\.0\.'
for n in 1 2 4; do
    stagecoach launch -n $n -- run "$model" $(pasts first npy) --random 2 -d sequence=3 -o carried$n | grep -e logits -e '\.0\.'
    diff -r whole carried$n
done
stagecoach run "$model" $(pasts first npy) --random 2 -d sequence=3 -o carried_pb --format pb > /dev/null
stagecoach run "$model" $(pasts carried_pb pb) --random 3 -d sequence=1 -o next_whole > /dev/null
stagecoach launch -n 3 -- run "$model" $(pasts carried4 npy) --random 3 -d sequence=1 -o next_carried > /dev/null
diff -r next_whole next_carried
stagecoach run "$model" -i past_key_values.0.key=first/present.0.key.npy -i past_key_values.0.value=whole/present.0.value.npy \
    --random 2 -d sequence=3 2>&1 | tail -n 1
head -c 1000 first/present.0.key.npy > cut.npy
stagecoach run "$model" -i past_key_values.0.key=cut.npy --random 2 -d sequence=3 -d past=1 2>&1 | tail -n 1
