# The byte order mark that an editor put before a prompt is no part of it.
model=$root/examples/shakespeare
printf '\357\273\277ROMEO:' > marked.txt
stagecoach generate "$model" -p "ROMEO:" -n 8 --temp 0 2> err > plain
stagecoach generate "$model" -f marked.txt -n 8 --temp 0 2> err | cmp - plain
