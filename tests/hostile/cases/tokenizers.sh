# SPDX-License-Identifier: Apache-2.0
# tokenizer.json that is missing, malformed, of an unknown kind, or of another model.
cp -r "$decoder" d
rm d/tokenizer.json
refuse 3 "'d/tokenizer.json': No such file or directory" generate d -p x -n 2
printf '{"version": ' > d/tokenizer.json
refuse 3 "'?d/tokenizer.json.*" generate d -p x -n 2
cp "$root/examples/shakespeare/tokenizer.json" d/tokenizer.json
refuse 3 "tokenizer.json has 2048 tokens, the model's logits have 300" generate d -p x -n 2
ranks="1 2"
: > d/tokenizer.json
refuse 3 "'?d/tokenizer.json.*" generate d -p x -n 2
printf '[]' > d/tokenizer.json
refuse 3 "'?d/tokenizer.json.*" generate d -p x -n 2
printf '{"version": "1.0", "model": {"type": "Oracle"}}' > d/tokenizer.json
refuse 3 "'?d/tokenizer.json.*Oracle.*" generate d -p x -n 2
printf '[%.0s' {1..100000} > d/tokenizer.json
refuse 3 "'?d/tokenizer.json.*" generate d -p x -n 2
rm d/tokenizer.json
mkdir d/tokenizer.json
refuse 3 "'d/tokenizer.json': is a directory, want a regular file" generate d -p x -n 2
rmdir d/tokenizer.json
ranks=1
bytes=$(stat -c %s "$decoder/tokenizer.json")
for ((n = 1; n < bytes; n += 97)); do
    head -c "$n" "$decoder/tokenizer.json" > d/tokenizer.json
    refuse 3 "'?d/tokenizer.json.*" generate d -p x -n 2
done
cp "$decoder/tokenizer.json" d/tokenizer.json
printf '{"eos_token_id": [1, 2' > d/generation_config.json
refuse 3 "'?d/generation_config.json.*" generate d -p x -n 2
