# A model without recorded data is run on all ranks and on one; where they differ, the first value that does is named.
stagecoach launch -n 2 -- verify "$root/examples/embed" -d batch=2 -d n=2 -pp 2 2> /dev/null
stagecoach verify "$root/examples/embed/model.onnx" -d batch=2 -d n=2 -pp 3 --bits 2> /dev/null | sed 's/BITS [0-9a-f]*/BITS/; s|: /.*|: MODEL|'
# rank 1 has another copy of the model, with one weight changed: its stage is the one that reads it
mkdir 0 1
cp "$root/examples/embed/model.onnx" 0/
python3 -c '
data = open("0/model.onnx", "rb").read()
at = data.rindex(b"\0\0\x80\xbf") # -1, the last of the weights C
open("1/model.onnx", "wb").write(data[:at] + b"\0\0\0\xc0" + data[at + 4:])'
echo '{"format": 1, "stages": [{"ranks": [0], "nodes": ["xA", "xAb", "h"]}, {"ranks": [1], "nodes": ["hC", "y"]}]}' > plan.json
printf '#!/bin/sh\ncd "$OMPI_COMM_WORLD_RANK" && exec "$@"\n' > apart
chmod +x apart
mpirun --oversubscribe -n 2 ./apart stagecoach verify model.onnx -d x=8x3 -d n=8 --plan ../plan.json --seed 1 2> /dev/null
