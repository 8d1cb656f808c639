# What does not fit an encoder and its decoder: one line each.
"$root/tests/exports/together/lay" models
sound=$root/tests/data/sounds
refused()
{
    stagecoach generate "$@" 2> err > /dev/null && echo "went well: $*"
    tail -n 1 err
}
refused models/t5 --audio "$sound/tone.wav"
refused models/t5 -p hi --language fr
refused models/whisper -p hi
refused models/whisper --audio "$sound/tone.wav" -p hi
refused models/whisper --audio "$sound/tone.wav" --language de
refused models/whisper --audio no.wav
head -c 5000 "$sound/tone.wav" > cut.wav
refused models/whisper --audio cut.wav
refused models/whisper --audio models/whisper/config.json
refused models/t5 -p ""
rm models/whisper/preprocessor_config.json
refused models/whisper --audio "$sound/tone.wav"
rm models/t5/decoder_model_merged.onnx
refused models/t5 -p hi
rm models/bart/config.json
echo '{"suppress_tokens": [4]}' > models/bart/config.json
refused models/bart -p hi
rm models/bart/config.json
echo '{"decoder_start_token_id": 0, "suppress_tokens": [400]}' > models/bart/config.json
refused models/bart -p hi
echo '{"decoder_start_token_id": 400}' > models/bart/config.json
refused models/bart -p hi
ln -sf ../t5/encoder_model.onnx models/whisper/encoder_model.onnx
ln -sf ../../models/t5_apart/decoder_model.onnx models/bart_apart/decoder_model.onnx
refused models/bart_apart -p hi
