J@~™#Aä©Å?zÿù¿È#AeÅ:An¾šÁŽa-A9%9Áj
B©fÖAhQxAC#ºA ŽBÝháÀ½™Àš."A