stagecoach plan m -pp -3
