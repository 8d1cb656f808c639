BprobabilitiesJTsô=r)¥=ƒÚL?þ¿]?eµ‡=¬JŠ=œçÆ=:ÐP=
Z?YÈ,>N0?læ>t'">©Ê-?è­&>`yš=±V?¬ú¯=W¹a?ŸK=v±Œ=