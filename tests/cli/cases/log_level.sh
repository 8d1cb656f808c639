# With less than info, nothing but the text itself comes, and a line when something is wrong.
stagecoach generate "$root/examples/shakespeare" -p 'To be' -n 4 --log-level error 2>&1
stagecoach bench "$root/examples/shakespeare" -p 8 -n 0 -r 1 --log-level warn 2>&1 >/dev/null
printf '{"prompt": "To be", "n_predict": 2}\n' > two.jsonl
stagecoach generate "$root/examples/shakespeare" -f two.jsonl --log-level error 2>&1 >/dev/null
stagecoach generate "$root/examples/shakespeare" -p 'To be' -n 4 2>&1 >/dev/null | grep -c '^stopped'
