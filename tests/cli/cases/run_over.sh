# A stream in one process: an input is cut into pieces, states go on from one to the next, outputs are joined. It gives the bits of
# a run for each piece, on any ranks, and what ONNX Runtime's loop gives; caches of a decoder go on alike.
data=$root/tests/data/states/vad
python3 - "$data" << 'END'
import struct, sys

def save(path, kind, dims, content):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, dims))},), }}".encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content)

chunks = [open(f"{sys.argv[1]}/chunks/{i}.npy", "rb").read()[-256:] for i in range(6)]
save("sound.npy", "<f4", (1, 384), b"".join(chunks))
save("rows.npy", "<f4", (2, 384), b"".join(chunks) * 2)
save("ids.npy", "<i8", (1, 70), struct.pack("<70q", *((7 * i * i) % 2000 for i in range(70))))
save("positions.npy", "<i8", (1, 70), struct.pack("<70q", *range(70)))
END
model="$data/model.onnx -i sr=$data/sr.npy"
stagecoach run $model -i input=sound.npy --over input=1 --window 64 -o whole 2>&1
cp "$data/zeros.npy" state.npy
for chunk in 0 1 2 3 4 5; do
    stagecoach run $model -i input="$data/chunks/$chunk.npy" -i state=state.npy -o one > /dev/null
    tail -c 4 one/output.npy >> heard
    mv one/stateN.npy state.npy
done
tail -c 24 whole/output.npy | cmp - heard
cmp state.npy whole/stateN.npy
python3 - "$data" << 'END'
import struct, sys

def floats(path):
    data = open(path, "rb").read()[128:]
    return struct.unpack(f"<{len(data) // 4}f", data)

made, wanted = floats("whole/output.npy"), floats(f"{sys.argv[1]}/output.npy")
print(len(made), "as ONNX Runtime" if max(abs(a - b) for a, b in zip(made, wanted, strict=True)) < 1e-6 else "off")
END
for n in 1 2 3; do
    stagecoach launch -n $n -- run $model -i input=sound.npy --over input=-1 --window 64 -t 1 -o ranks$n --log-level warn > /dev/null
    diff -r whole ranks$n
done
stagecoach run $model -i input=rows.npy --over input=1 --window 64 --join output=1 -o rows --log-level warn
tail -c 48 rows/output.npy | cmp - <(cat heard heard)
echo "a state that is given, and sound"
stagecoach run $model -i input=sound.npy -i state="$data/zeros.npy" --over input=1 --window 64 --state state=stateN -o given --log-level warn
diff -r whole given
stagecoach run $model -i input="$root/tests/data/sounds/tone.wav" --over input=1 --window 40 --overlap 24 --join output=1 2>&1
stagecoach run $model -i input="$root/tests/data/sounds/rate_8000.wav" --rate 16000 --over input=1 --window 64 --rest drop --log-level warn
echo "a decoder's caches"
decoder="$root/examples/shakespeare -i input_ids=ids.npy -i position_ids=positions.npy"
stagecoach run $decoder -d past=0 --random 1 -o text > text.lines; head -n 2 text.lines
for n in 1 3; do
    stagecoach launch -n $n -- run $decoder --over input_ids=1 --over position_ids=1 --window 9 --rest short --join logits=1 \
        -o text$n --log-level warn | cmp - text.lines
    diff -r text text$n
done
echo "what cannot be"
refuse() # one line on stderr, an exit code, and no folder
{
    stagecoach run "$@" --log-level error -o refused 2>&1 > /dev/null && echo "is taken"
    [ ! -e refused ] || echo "left a folder"
}
refuse $model -i input=sound.npy --window 64
refuse $model -i input=sound.npy --over input=1
refuse $model -i input=sound.npy --over input=2 --window 64
refuse $model -i input=sound.npy --over input=1 --window 50
refuse $model -i input=sound.npy --over input=1 --window 50 --overlap 14 --rest short
refuse $model -i input=sound.npy --over input=1 --window 500 --rest drop
refuse $model -i input=sound.npy --over input=1 --window 64 --join noise=1
refuse $model -i input=sound.npy --over input=1 --window 64 --join output=2
refuse $model -i input=sound.npy --over input=1 --window 64 --format pb
refuse $model -i input=sound.npy -i state="$data/zeros.npy" --over input=1 --over state=2 --window 64
refuse $model --random 1 --over input=1 --window 64
refuse $decoder --over input_ids=1 --over position_ids=1 --window 9 --state past_key_values.0.key=present.0.key
refuse "$root/examples/shakespeare" -i input_ids=ids.npy -i position_ids=positions.npy --over input_ids=1 --over position_ids=1 --window 9 --rest short
