
BscoresJ(­ë
AWô@~‡Aäb!A&=Aà’Æ@(áA,Ìò@Í±"A±¶AB