stagecoach help > a
stagecoach --help > b
cmp a b
head -n 3 a
