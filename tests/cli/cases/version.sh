stagecoach version
stagecoach --version
