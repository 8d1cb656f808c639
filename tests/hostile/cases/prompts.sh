# SPDX-License-Identifier: Apache-2.0
# Prompts that are empty, too long, no text, or files that are none.
long=$(printf 'x%.0s' {1..70})
refuse 3 "the prompt has 70 tokens, the context holds 64" generate "$decoder" -p "$long" -n 2
refuse 3 "the prompt is empty" generate "$decoder" -p "" -n 2
refuse 2 "a prompt is missing: give -p TEXT or -f FILE" generate "$decoder" -n 2
refuse 2 "options '--prompt' and '--file' exclude each other" generate "$decoder" -p x -f x -n 2
refuse 3 ".*UTF-8.*" generate "$decoder" -p $'a\xff\xfe' -n 2
: > empty.txt
head -c 100000 /dev/urandom > binary.txt
head -c 17M /dev/zero > huge.txt
mkdir folder
mkfifo pipe
refuse 3 ".*UTF-8.*" generate "$decoder" -f binary.txt -n 2
ranks="1 2"
refuse 3 "the prompt is empty" generate "$decoder" -f empty.txt -n 2
refuse 3 "'huge.txt': over 16777216 bytes, the limit here" generate "$decoder" -f huge.txt -n 2
refuse 3 "'nowhere.txt': No such file or directory" generate "$decoder" -f nowhere.txt -n 2
refuse 3 "'folder': is a directory, want a regular file" generate "$decoder" -f folder -n 2
refuse 3 "'pipe': is a device or pipe, want a regular file" generate "$decoder" -f pipe -n 2
head -c 15M /dev/zero | tr '\0' 'x' > long.txt
refuse 3 "the prompt has .* tokens, the context holds 64" generate "$decoder" -f long.txt -n 2
