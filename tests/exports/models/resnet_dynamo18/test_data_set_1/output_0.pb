
ByJ(VG:?üM¿Bö@>št¿FH6@Œsò?sƒ>m
pÀ@f'¿>+x¿