echo "{\"format\": 99" > plan.json
stagecoach generate "$root/examples/shakespeare" -p x -n 2 --plan plan.json
