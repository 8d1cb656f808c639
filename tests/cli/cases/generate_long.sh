# Speech of three windows: the language is found in the first, and what the windows give is one text, alone or beside others, on
# any ranks; numpy's spectrograms and ONNX Runtime's loop say which.
"$root/tests/exports/together/lay" models
python3 - "$root/tests/data/sounds/tone.wav" << 'END'
import sys, wave
with wave.open(sys.argv[1]) as tone, wave.open("long.wav", "wb") as long:
    long.setparams(tone.getparams())
    long.writeframes(tone.readframes(tone.getnframes()) * 3)
END
for i in 1 2 3; do
    echo '{"audio": "long.wav", "ignore_eos": true, "n_predict": 9}'
    echo '{"audio": "'"$root"'/tests/data/sounds/rate_22050.wav", "n_predict": 3}'
done > l.jsonl
pick()
{
    python3 -c '
import json, sys
for line in list(sys.stdin)[0::2]:
    line = json.loads(line)
    print(json.dumps({name: line[name] for name in ("language", "tokens")}))' | sort -u
}
stagecoach generate models/whisper -f l.jsonl 2> /dev/null | pick | cmp - "$root/tests/exports/together/whisper/long.txt"
stagecoach launch -n 3 -- generate models/whisper_apart -f l.jsonl -np 4 -t 1 2> err | pick | cmp - "$root/tests/exports/together/whisper/long.txt"
grep -c "'long.wav': the language found is <|fr|>" err
stagecoach generate models/whisper --audio long.wav -n 9 --ignore-eos 2> err
grep language err
sed -nE 's,.*eval time =.*/ *([0-9]+) tokens.*,\1 tokens,p' err # of the first window, and of all
stagecoach generate models/whisper --audio long.wav -n 9 --ignore-eos --language fr 2> err
grep -c language err || true
