stagecoach plan "$root/tests/data/states/lstm" --state h.last=h.first
