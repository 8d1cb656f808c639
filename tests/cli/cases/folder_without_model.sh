mkdir d
stagecoach inspect d
