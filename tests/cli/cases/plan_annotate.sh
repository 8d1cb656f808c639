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
stagecoach plan "$root/tests/data/graphs/functions" -pp 2 --annotate no.onnx > /dev/null
