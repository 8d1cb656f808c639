# Speech: the ids that numpy's spectrogram and ONNX Runtime's loop give, with what generation_config.json forces and forbids.
"$root/tests/exports/together/lay" models
sound=$root/tests/data/sounds/tone.wav
echo "{\"audio\": \"$sound\", \"ignore_eos\": true}" > a.jsonl
echo "{\"audio\": \"missing.wav\"}" >> a.jsonl
echo "{\"prompt\": \"text\"}" >> a.jsonl
tokens()
{
    python3 -c '
import json, sys
print(json.loads(sys.stdin.readline())["tokens"])'
}
for form in whisper whisper_apart; do
    stagecoach generate models/$form -f a.jsonl -n 20 2> /dev/null > made || true
    tokens < made > ids
    stagecoach launch -n 2 -- generate models/$form -f a.jsonl -n 20 --language fr --task translate 2> /dev/null | tokens >> ids
    stagecoach generate models/$form -f a.jsonl -n 20 --language en 2> /dev/null | tokens >> ids
    cmp ids "$root/tests/exports/together/whisper/heard.txt"
done
python3 -c '
import json
for line in open("made"):
    print(json.loads(line).get("error"))'
stagecoach generate models/whisper --audio "$sound" -n 20 --language fr --task translate 2> /dev/null
