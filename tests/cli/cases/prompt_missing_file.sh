stagecoach generate "$root/examples/shakespeare" -f nowhere.txt -n 2
