2setosa2setosa2
versicolor2
versicolor2setosa2
versicolor2	virginicaBoutput_label