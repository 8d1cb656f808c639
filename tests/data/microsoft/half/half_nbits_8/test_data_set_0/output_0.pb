
By0JLçÀMÝKìÈÅsRjHhJÁHµPLIF(P…ÍnÎPQ÷GàË:E@FÐyÒ=Fâ6ÅƒL«HÏÐZÒ*Â4C„PŸOkH°ÏªAíÒâK