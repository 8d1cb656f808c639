# The graph as the file has it, with bodies, functions and defaults; as passes leave it; and nothing of large weights.
cd "$root/tests/data/graphs"
stagecoach inspect functions/model.onnx --dump
stagecoach inspect nested_if/model.onnx --dump
stagecoach inspect defaults/model.onnx --dump
stagecoach inspect functions/model.onnx --dump --passes
stagecoach inspect defaults/model.onnx --dump --passes
cd "$root/examples"
stagecoach inspect shakespeare --dump | grep 'embed_tokens\|epsilon = ' | head -n 3
test "$(stagecoach inspect shakespeare --dump | wc -c)" -lt 30000
