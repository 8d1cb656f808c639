# After passes dims are known by name, through shape arithmetic, products and the lesser of two; 0 set aside for people.
stagecoach inspect --dump --passes "$root/tests/data/graphs/shapes" | grep -E '^  (y|flat|by_length|cut) float'
# A window that moves by one keeps an open size where its padding makes up for it; one that moves by two does not.
stagecoach inspect --dump --passes "$root/tests/exports/models/unet_script16" | grep -oE '^  /(down.0|pool)/[^ ]*(Conv|MaxPool)_output_0 float[^=]*= [A-Za-z]*'
