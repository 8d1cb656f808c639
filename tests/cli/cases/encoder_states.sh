# A text behind an encoder that is saved, loaded by other ranks, or begun by a plan of its own: that of one that is left alone.
# What its encoder has read is in the file, and is not read again.
"$root/tests/exports/together/lay" models
generate()
{
    n=$1 model=models/$2
    shift 2
    stagecoach launch -n "$n" -- generate "$model" --ignore-eos -t 1 --report report.json "$@" 2> err || tail -n 1 err
}
for family in t5_apart whisper; do
    source=(-p "hello, world, and all that")
    [ $family != whisper ] || source=(--audio "$root/tests/data/sounds/tone.wav")
    for n in 2 3; do
        stagecoach plan models/$family -pp $n --random-plan $n -o plan$n.json > /dev/null
    done
    generate 1 $family "${source[@]}" -n 20 > whole
    generate 3 $family "${source[@]}" -n 9 --save-state a.state > first
    generate 2 $family --load-state a.state -n 6 --save-state b.state > second
    generate 1 $family --load-state b.state -n 5 > third
    paste -d "" first second third | cmp - whole
    generate 3 $family "${source[@]}" -n 9 --prefill-plan plan2.json --decode-plan plan3.json --save-state c.state > first
    generate 2 $family --load-state c.state -n 11 | paste -d "" first - | cmp - whole
    echo "$family: $(python3 -c 'import json; print(json.load(open("report.json"))["generation"]["tokens"])') tokens"
done
refused()
{
    stagecoach generate "$@" 2> err > /dev/null && echo "went well: $*"
    tail -n 1 err
}
refused models/whisper --load-state a.state --audio "$root/tests/data/sounds/tone.wav"
refused models/whisper --load-state a.state --language fr
refused models/t5 --load-state a.state
refused models/t5 --load-state a.state -p hi
head -c 6000 a.state > cut.state
refused models/whisper --load-state cut.state
python3 - << 'END'
data = bytearray(open("a.state", "rb").read())
data[-20] ^= 1 # of the last state, which the encoder made
open("hurt.state", "wb").write(data)
END
refused models/whisper --load-state hurt.state
