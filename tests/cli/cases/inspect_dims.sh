# After passes dims are known by name, through shape arithmetic, products and the lesser of two; 0 set aside for people.
stagecoach inspect --dump --passes "$root/tests/data/graphs/shapes" | grep -E '^  (y|flat|by_length|cut) float'
