# A stream in chunks, with a state from each to the next, as silero-vad is used: what ONNX Runtime's loop gives, on any ranks; the
# files of outputs are those of inputs.
data=$root/tests/data/states/vad
for n in 1 2; do
    cp "$data/zeros.npy" state.npy
    rm -f heard
    for chunk in 0 1 2 3 4 5; do
        stagecoach launch -n $n -- run "$data/model.onnx" -i input="$data/chunks/$chunk.npy" -i state=state.npy -i sr="$data/sr.npy" \
            -o out > /dev/null
        mv out/stateN.npy state.npy
        tail -c 4 out/output.npy >> heard
        rm -r out
    done
    cat state.npy heard > stream$n
    python3 - "$data" << 'END'
import struct, sys

def floats(path, skip=0):
    data = open(path, "rb").read()[skip:]
    return struct.unpack(f"<{len(data) // 4}f", data)

def compare(made, wanted):
    off = max(abs(a - b) for a, b in zip(made, wanted, strict=True))
    print(len(made), "as wanted" if off < 1e-6 else f"off by {off}")

compare(floats("heard"), floats(f"{sys.argv[1]}/output.npy", 128))
compare(floats("state.npy", 128), floats(f"{sys.argv[1]}/stateN.npy", 128))
END
done
cmp stream1 stream2
