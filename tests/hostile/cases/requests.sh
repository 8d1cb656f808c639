# SPDX-License-Identifier: Apache-2.0
# A file of requests of which most are none: each has its line, the others go on, the same for any -np and ranks.
g="generate $decoder -n 2"
{
    printf '\xef\xbb\xbf{"prompt": "first"}\r\n\n \t\n'
    for value in -1 1e3 1.5 null '"5"' 99999999999999999999 '[1]' NaN 1e999; do
        printf '{"prompt": "a", "n_predict": %s}\n{"prompt": "a", "seed": %s}\n' "$value" "$value"
        printf '{"prompt": "a", "temperature": [%s]}\n{"prompt": %s}\n{"id": %s, "prompt": "a"}\n' "$value" "[$value]" "{\"a\": $value}"
    done
    printf '{"prompt": "a", "%s": 1}\n' prompt nonsense audio top_p top_k2 "$(printf 'k%.0s' {1..5000})"
    printf '{"audio": "x.wav"}\n{}\n[]\n5\nnull\n{"prompt": "a"\n{"prompt": "a"} b\n\xff\xfe\n\0\n{"prompt": "\\ud800"}\n'
    printf '{"prompt": "a", "id": "\\u0000"}\n{"prompt": ""}\n{"prompt": "%s"}\n' "$(printf 'x%.0s' {1..65})"
    printf '[%.0s' {1..100000}
    printf '\n{"a":%.0s' {1..3000}
    printf '\n{"prompt": "'
    head -c 10000000 /dev/zero | tr '\0' y
    printf '"}\n{"prompt": "<|endoftext|>", "ignore_eos": true}\n{"prompt": "a\\u0000b", "n_predict": 0}\n{"prompt": "last"}'
} > p.jsonl
for run in "1 1" "1 8" "3 3"; do
    on_ranks ${run% *} $g -f p.jsonl -np ${run#* }
    [ "$code" = 3 ] || complain "${run% *}" "exit code $code, want 3" $g
    told=$(grep -a ^stagecoach ../err)
    n=$(wc -l < ../out) failed=$(grep -ac '"finish_reason": "error"' ../out)
    case $told in
        "stagecoach generate: "*"$failed of $n requests failed") ;;
        *) complain "${run% *}" "'$told', of $n results $failed are errors" $g ;;
    esac
    [ $((n - failed)) = 5 ] || complain "${run% *}" "$((n - failed)) texts, want 5" $g
    sed 's/, "timings".*//; s/"shared_tokens": [0-9]*//' ../out > "../made.$run"
    cmp -s "../made.1 1" "../made.$run" || complain "${run% *}" "other results than one at a time" $g
    [ "$(grep -ac '"error": "line [0-9]*: ' ../out)" = "$failed" ] || complain "${run% *}" "an error without its line" $g
done
# a text with a NUL is whole
printf '{"prompt": "<|endoftext|>", "temperature": 0, "n_predict": 3, "ignore_eos": true}\n' > nul.jsonl
accept $g -f nul.jsonl
grep -q '"text": "\\u0001\\u0000\\u0000", "tokens": \[2, 1, 1\]' ../out || complain 1 "$(cat ../out)" $g
: > none.jsonl
accept $g -f none.jsonl
[ ! -s ../out ] || complain 1 "a result of no request" $g
mkdir folder.jsonl
mkfifo pipe.jsonl
refuse 3 "'folder.jsonl': is a directory, want a regular file" $g -f folder.jsonl
refuse 3 "'pipe.jsonl': is a device or pipe, want a regular file" $g -f pipe.jsonl
# a file without end of line is a request too long, whatever its size
truncate -s 2G large.jsonl
for n in 1 3; do
    on_ranks $n $g -f large.jsonl
    [ "$code" = 3 ] || complain $n "exit code $code, want 3" $g
    grep -q '"error": "line 1: a line of 2147483648 bytes, want at most ' ../out || complain $n "$(head -c 300 ../out)" $g
done
