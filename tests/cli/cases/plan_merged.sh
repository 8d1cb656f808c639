# One node in the file, an If on use_cache_branch: a plan names the nodes of the branch that is taken, and is read back.
stagecoach plan "$root/tests/data/merged" -pp 3 -o plan.json > table
stagecoach plan "$root/tests/data/merged" --plan plan.json > again
grep '^ .*->' table
diff <(grep '^ .*->' table) <(grep '^ .*->' again) && grep -o '"[^"]*embed_tokens[^"]*"' plan.json
stagecoach inspect "$root/tests/data/merged" | grep -A4 '^states'
