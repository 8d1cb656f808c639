
BprobabilitiesJ(ê†);x˜=€X?©³y<Mz9vÒÅ:­U-<zVµ:–L=ò,0;