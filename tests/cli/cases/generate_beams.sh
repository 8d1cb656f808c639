cp -r "$root/tests/data/genai/llama" model
sed -i 's/"num_beams": 1/"num_beams": 4/' model/genai_config.json
stagecoach generate model -p HELLO
