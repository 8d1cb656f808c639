stagecoach verify d --gemm fast
