# greedy, as genai_config.json says
stagecoach generate "$root/tests/data/genai/llama" -p HELLO -n 20 2> /dev/null
stagecoach generate "$root/tests/data/genai/llama" -p HELLO -n 20 --repeat-penalty 1.5 2> /dev/null
