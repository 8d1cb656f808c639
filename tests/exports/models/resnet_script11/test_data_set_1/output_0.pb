
ByJ(RG:?¸MøPˆ@>ötøEH6@ãsÚ?nÉ>m
p¿?f'ø<+xø