BprobabilitiesJ8∆ºi?–≤=∆ºi?–≤=0d=ùæq? ®ü=¸
l?0d=ùæq?∆ºi?–≤=Tº>Î–\?