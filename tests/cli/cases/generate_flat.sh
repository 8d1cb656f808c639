# Memory does not grow with a file of requests: a hundred thousand lines that are none, among a few that are.
python3 - "$root/examples/shakespeare" << 'END'
import json, os, subprocess, sys

def peak(name, n_bad):
    with open(f"{name}.jsonl", "w") as file:
        for i in range(n_bad + 4):
            file.write('{"prompt": "ROMEO:"}\n' if i % (n_bad // 3 + 1) == 0 else '{"promt": "ROMEO:"}\n')
    out = open(f"{name}.out", "w")
    process = subprocess.Popen(["stagecoach", "generate", sys.argv[1], "-f", f"{name}.jsonl", "-n", "1", "-np", "2", "-t", "1"],
                               stdout=out, stderr=subprocess.DEVNULL)
    usage = os.wait4(process.pid, 0)[2]
    made = [json.loads(line) for line in open(f"{name}.out")]
    good = [m["index"] for m in made if "error" not in m]
    print(len(made), [m["index"] for m in made] == list(range(len(made))), good)
    return usage.ru_maxrss

few, many = peak("few", 3), peak("many", 100000)
print("flat" if many - few < 16 << 10 else f"{many - few} KiB more")
END
