stagecoach help frob
