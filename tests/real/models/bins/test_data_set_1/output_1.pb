BprobabilitiesJT°x?šúé<Ÿc‚5rúR?¯q3>7‡$:l&Ğ=œıd?ë•};a‚=
[j?øTú;°x?šúé<Ÿc‚5¿h+;‚¹J?XlR>iB8‰Z>{I?