stagecoach run m -i
