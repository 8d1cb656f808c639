stagecoach generate m --tmep 1
