# Behind an encoder: what it reads, tokens or all frames of sound, is a row of its own, and so with several texts and ranks.
"$root/tests/exports/together/lay" models
rows() # tests and units; a result is above nothing, whatever it is
{
    awk -F, 'NR > 1 { print $7, $10, ($8 > 0 ? "" : "is nothing") }' | sed 's/ $//'
}
stagecoach bench models/t5 -p 16 -n 4 -r 1 -t 1 -o csv 2> /dev/null | rows
stagecoach launch -n 2 -- bench models/bart_apart -p 16 -n 4 -r 1 -t 1 -np 2 -o csv 2> /dev/null | rows
stagecoach bench models/whisper -p 16 -n 4 -r 1 -t 1 -o csv 2> /dev/null | rows
stagecoach bench models/whisper -p 0 -n 4 -r 1 -t 1 -o csv 2> /dev/null | rows
stagecoach bench models/t5 -p 4 -n 4 -r 1 -d 5 2>&1 | tail -n 1
rm models/whisper/preprocessor_config.json
stagecoach bench models/whisper -n 4 -r 1 2>&1 | tail -n 1
