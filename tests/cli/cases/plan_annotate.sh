# --annotate: the model with a stage for each node, which plan shows again and runs follow, with the same bits.
m=$root/examples/embed/model.onnx
stagecoach plan "$m" -pp 3 --annotate staged.onnx | sed -n '4,7p' > before
stagecoach plan staged.onnx | sed -n '4,7p' > after
diff before after
stagecoach inspect staged.onnx | head -n 1
stagecoach run "$m" --random 1 -d batch=2 -d n=3 -o alone
stagecoach launch -n 2 -- run staged.onnx --random 1 -d batch=2 -d n=3 -o staged --report report.json
cmp alone/y.npy staged/y.npy
grep -c predicted_seconds report.json # three stages, two ranks
# calls of functions become nodes, which go by the stage of their call, unless the plan has them apart
f=$root/tests/data/graphs/functions
stagecoach plan "$f" -pp 2 --annotate called.onnx | awk 'NR > 3 && NR < 6 { $3 = ""; print }' > before
stagecoach plan called.onnx | awk 'NR > 3 && NR < 6 { $3 = ""; print }' > after # without the count, which has folded nodes too
diff before after
stagecoach inspect called.onnx --dump | grep -c '= local.'
stagecoach run "$f" --random 1 -d n=2 -o whole > /dev/null
stagecoach launch -n 2 -- run called.onnx --random 1 -d n=2 -o parts > /dev/null
cmp whole/out.npy parts/out.npy
stagecoach plan "$f" -pp 3 --annotate no.onnx > /dev/null
