stagecoach generate m -n abc
