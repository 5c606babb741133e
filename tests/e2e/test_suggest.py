"""metron suggest: the rules against Python's own arithmetic, the lines to paste, screens, bad input."""

import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess

import pytest

from support.made_runs import MIB, make_history, make_run

TESTS = pathlib.Path(__file__).resolve().parent.parent
RECORDINGS = TESTS / "fixtures" / "recordings"
GOLDEN = TESTS / "golden" / "suggest"
SCREENS = {"80": (80, "never"), "200": (200, "never"), "80-color": (80, "always"), "200-color": (200, "always")}
GIB = 1 << 30


@pytest.fixture
def suggest(run_metron):
    """suggest(*args, width=, code=) -> stdout; suggest.messages is what was said on stderr."""

    def run(*args, width=80, code=0, wrapper=()):
        done = subprocess.run([*wrapper, run_metron.binary, "suggest", *map(str, args)], cwd=run_metron.cwd,
                              check=False, capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                              env=run_metron.environment({"COLUMNS": str(width)}))
        run.messages = done.stderr.decode()
        assert done.returncode == code, run.messages
        return done.stdout.decode()

    run.cwd = run_metron.cwd
    return run


@pytest.fixture
def suggest_json(suggest):
    return lambda *args, **how: json.loads(suggest("--json", *args, **how))


# Screens

PAGES = {
    "ranks": ["metron-ranks"],
    "mixed": ["."],
    "oom": ["metron-oom"],
    "one": ["metron-ended"],
    "duct": ["duct-0.2.2", "duct-jsonl"],
    "slurm": ["--for", "slurm", "metron-ranks"],
    "pbs": ["--for", "pbs", "metron-ranks"],
    "lsf": ["--for", "lsf", "metron-ranks"],
    "sge": ["--for", "sge", "metron-ranks"],
    "nextflow": ["--for", "nextflow", "metron-ranks"],
    "snakemake": ["--for", "snakemake", "metron-ranks"],
    "k8s": ["--for", "k8s", "metron-ranks"],
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_the_page_looks_as_it_did_when_it_was_looked_at(suggest, name, screen):
    width, colors = SCREENS[screen]
    for each in sorted(RECORDINGS.iterdir()):
        if each.is_dir():
            shutil.copytree(each, suggest.cwd / each.name)
    text = suggest("--colors", colors, *PAGES[name], width=width)
    golden = GOLDEN / f"{name}-{screen}.txt"
    if os.environ.get("METRON_UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


# The rules


@pytest.mark.parametrize("count", [1, 2, 5, 19, 20, 50, 150])
def test_the_numbers_are_those_of_python(suggest_json, tmp_path, count):
    drawn = make_history(tmp_path / "runs", count)
    made = suggest_json(tmp_path / "runs")
    memory, wall = [run["memory"] for run in drawn], [run["wall"] for run in drawn]
    # Twice as long on one CPU: two are needed, or as many more as make it at most a tenth longer.
    cpus = sorted(next(n for n in range(1, 9) if max(1, run["cpu"] / run["wall"] / n) <= 1.1) for run in drawn)

    def quantile(values, percent):
        return values[0] if count == 1 else statistics.quantiles(values, n=100, method="inclusive")[percent - 1]

    base = quantile(memory, 99) if count >= 20 else max(memory)
    assert made["memory_bytes"]["base"] == pytest.approx(base, rel=1e-9)
    assert made["memory_bytes"]["value"] == math.ceil(base * 1.2 / (64 * MIB)) * 64 * MIB
    assert made["cpus"]["value"] == made["cpus"]["base"] == cpus[math.ceil(0.9 * count) - 1]
    longest = quantile(wall, 99) if count >= 20 else max(wall)
    assert made["wall_seconds"]["value"] == math.ceil(longest * 1.2 / 60) * 60
    assert made["runs"]["found"] == made["runs"]["counted"] == made["memory_bytes"]["runs"] == count


def test_the_margin_is_what_was_asked_for(suggest, suggest_json, tmp_path):
    make_run(tmp_path / "a_", memory=GIB, wall=600)
    assert suggest_json("--margin", "100", tmp_path)["memory_bytes"]["value"] == 2 * GIB
    assert suggest_json("--margin", "0", tmp_path)["wall_seconds"]["value"] == 600
    assert "plus 50 %" in suggest("--margin", "50", tmp_path)


def test_one_run_is_said_to_be_one(suggest, tmp_path):
    make_run(tmp_path / "a_", memory=GIB)
    assert "rests on one run only" in suggest(tmp_path)


def test_failed_and_running_runs_are_left_out_and_counted(suggest, suggest_json, tmp_path):
    make_run(tmp_path / "good_", memory=GIB, wall=100)
    make_run(tmp_path / "bad_", memory=GIB // 2, wall=9000, exit_code=1)
    shutil.copytree(RECORDINGS / "metron-lost", tmp_path / "lost")
    made = suggest_json(tmp_path)
    assert made["wall_seconds"]["value"] == 120
    assert (made["runs"]["failed"], made["runs"]["lost"], made["runs"]["counted"]) == (1, 1, 1)
    text = suggest(tmp_path, width=200)
    assert "2 left out: 1 failed, 1 is lost" in text
    assert "schedulers kill metron as well" in text


def test_without_any_success_the_others_count_and_it_says_so(suggest, tmp_path):
    make_run(tmp_path / "bad_", memory=GIB, wall=100, exit_code=1)
    text = suggest(tmp_path, width=200)
    assert "no run has succeeded" in text and "lower bounds" in text
    assert "1.25 GiB" in text


def test_a_run_killed_at_a_limit_raises_the_memory_beyond_it(suggest, suggest_json, tmp_path):
    shutil.copytree(RECORDINGS / "metron-oom", tmp_path / "oom")
    make_run(tmp_path / "small_", memory=10 * MIB)
    made = suggest_json(tmp_path)
    assert made["memory_bytes"]["floor"] == {"value": 96 * MIB, "limit": 64 * MIB, "raised": True}
    assert made["memory_bytes"]["value"] == 128 * MIB
    assert made["runs"]["out_of_memory"] == 1
    assert "1 run was killed for want of memory at a limit of 64 MiB" in " ".join(suggest(tmp_path).split())


def test_what_was_requested_stands_beside_what_was_used(suggest_json, tmp_path):
    env = {"SLURM_MEM_PER_NODE": "4096", "SLURM_CPUS_PER_TASK": "8", "SLURM_JOB_START_TIME": "1000",
           "SLURM_JOB_END_TIME": "4600"}
    make_run(tmp_path / "a_", memory=GIB, cpu=1800, wall=900, env=env)
    make_run(tmp_path / "b_", memory=GIB, cpu=1800, wall=900)
    made = suggest_json(tmp_path)
    assert made["memory_bytes"]["requested"] == {
        "runs": 1, "lowest": 4 * GIB, "highest": 4 * GIB,
        "used_percent": {"lowest": 25, "median": 25, "highest": 25}}
    assert made["cpus"]["requested"]["used_percent"]["median"] == 25
    assert made["wall_seconds"]["requested"]["used_percent"]["median"] == 25
    assert made["wall_seconds"]["requested"]["lowest"] == 3600


def test_a_run_that_ran_out_of_its_time_raises_the_time(suggest, suggest_json, tmp_path):
    make_run(tmp_path / "a_", wall=600)
    make_run(tmp_path / "b_", wall=3599, env={"SLURM_TIMELIMIT": "60"},
             summary={"exit_code": 143, "signal": 15, "cause": "killed by SIGTERM, ended through metron"})
    made = suggest_json(tmp_path)
    assert made["wall_seconds"]["value"] == 5400
    assert made["runs"]["out_of_time"] == 1
    assert "out of the time requested" in suggest(tmp_path, width=200)


def test_methods_are_named_and_estimates_said_to_be_so(suggest, tmp_path):
    make_run(tmp_path / "a_", memory=GIB, source="smaps_peak_pss_total")
    shutil.copytree(RECORDINGS / "duct-0.2.2", tmp_path / "duct")
    text = suggest(tmp_path, width=200)
    assert "smaps_peak_pss_total (1 run)" in text and "peak_rss (1 run)" in text
    assert "peak_rss is an estimate" in text and "upper bound" not in text


def test_methods_are_those_of_the_runs_that_count(suggest_json, tmp_path):
    for name, code in (("a_", 0), ("b_", 0), ("c_", 137)):
        make_run(tmp_path / name, memory=GIB, exit_code=code)
    made = suggest_json(tmp_path)
    assert sum(each["runs"] for each in made["memory_sources"]) == made["memory_bytes"]["runs"] == 2


def test_sampled_peaks_are_a_warning(suggest, suggest_json, tmp_path):
    make_run(tmp_path / "kernel" / "a_", memory=GIB, source="proc_hwm_max")
    assert suggest_json(tmp_path)["peaks_sampled"] == 0 and "sampled" not in suggest(tmp_path)
    shutil.copytree(RECORDINGS / "duct-0.2.2", tmp_path / "duct")
    make_run(tmp_path / "b_", memory=GIB, source="smaps_peak_pss_total", note="sampled")
    assert suggest_json(tmp_path)["peaks_sampled"] == 2
    assert "2 peaks were sampled: what was held only between two samples" in suggest(tmp_path, width=200)


def test_a_peak_of_one_process_of_several_is_a_warning(suggest, suggest_json, tmp_path):
    make_run(tmp_path / "a_", memory=GIB, note="largest single process; several may have held more at once")
    assert suggest_json(tmp_path)["peaks_of_largest_process"] == 1
    assert "largest single process: together they may have held more" in suggest(tmp_path, width=200)


def test_waiting_for_a_cpu_is_a_warning(suggest, suggest_json, tmp_path):
    stall = {"cpu": {"share": 0.61, "source": "cgroup_ave_psi_cpu_some_pct"}}
    make_run(tmp_path / "a_", cpu=10, wall=10, top={"stall": stall})
    made = suggest_json(tmp_path)
    assert made["waited_for_cpu"] == {"runs": 1, "lowest_percent": 61, "highest_percent": 61}
    assert made["cpus_are_lower_bound"] is True
    text = suggest(tmp_path, width=200)
    assert "1 of 1 run waited for a CPU for 61 % of its time: the CPUs are a lower bound; run it where CPUs" in text
    assert "CPUs    1 or more" in text
    lines = {consumer: suggest("--for", consumer, tmp_path, width=200) for consumer in ("slurm", "pbs", "nextflow", "snakemake", "k8s")}
    assert not any(re.search(r"cpus-per-task|ncpus|cpus =|threads:|cpu:", each) for each in lines.values()), lines
    stall["cpu"]["note"] = "of the whole machine"
    make_run(tmp_path / "a_", cpu=10, wall=10, top={"stall": stall})
    made = suggest_json(tmp_path)
    assert "waited_for_cpu" not in made and made["perhaps_waited_for_cpu"] == 1 and made["cpus_are_lower_bound"]
    text = suggest("--for", "slurm", tmp_path, width=200)
    assert "1 of 1 run ran on busy CPUs and may have waited for one: the CPUs are a lower bound" in text
    assert "cpus-per-task" not in text


# A build on four CPUs: configure alone for most of the time, then all compilers at once.
BUILD = [(1, 0.9)] * 70 + [(1, 4)] * 30
QUIET = {"stall": {"cpu": {"share": 0.05, "source": "cgroup_ave_psi_cpu_some_pct"}}}


def test_cpus_are_those_that_are_busy_over_time(suggest, suggest_json, tmp_path):
    make_run(tmp_path / "a_", spans=BUILD, top=QUIET)
    made = suggest_json(tmp_path)
    assert made["cpus"]["value"] == 3  # with 2 of them 30 s become 60: 30 % longer; with 3 they become 40
    assert made["busy_cores"] == [{"first": 1, "last": 1, "seconds": 70}, {"first": 3, "last": 4, "seconds": 30}]
    text = suggest(tmp_path, width=200)
    assert "enough for 1 of 1 run to take at most 10 % longer" in text
    assert "cores in use: 1 for 70 % of the time, 3-4 for 30 %" in text


def test_records_that_are_too_long_for_bursts_are_a_warning(suggest, suggest_json, tmp_path):
    summary = {"proc_peak_pdcpu_total": 390}
    make_run(tmp_path / "long_", spans=[(60, 1.05)], top=QUIET, summary=summary)
    made = suggest_json(tmp_path)
    assert made["cpus"]["value"] == 1 and made["hidden_bursts"] == {"runs": 1, "most_cores": 3.9}
    assert "1 of 1 run has records too long to show bursts, in which up to 3.9 cores" in suggest(tmp_path, width=200)
    make_run(tmp_path / "long_", spans=[(2, 1.05)] * 30, top=QUIET, summary=summary)
    assert "hidden_bursts" not in suggest_json(tmp_path)


def test_a_run_that_waited_does_not_count_for_the_cpus_beside_one_that_did_not(suggest, suggest_json, tmp_path):
    make_run(tmp_path / "free_", spans=BUILD, top=QUIET)
    busy = {"stall": {"cpu": {"share": 0.73, "source": "cgroup_ave_psi_cpu_some_pct"}}}
    for name in ("b_", "c_", "d_"):
        make_run(tmp_path / name, spans=[(370, 0.5)], top=busy)
    made = suggest_json(tmp_path)
    assert (made["cpus"]["value"], made["cpus"]["runs"], made["cpus_are_lower_bound"]) == (3, 1, False)
    assert "3 of 4 runs waited for a CPU for 73 % of their time: what they could use is not known" in suggest(
        tmp_path, width=200)


def test_a_run_that_a_quota_held_back_is_a_warning(suggest, suggest_json, tmp_path):
    make_run(tmp_path / "a_", spans=[(10, 1)], top=QUIET, summary={"cgroup_cpu_throttled_seconds": 4})
    assert suggest_json(tmp_path)["held_back_by_cpu_quota"] == 1
    assert "1 of 1 run was held back by a CPU quota: the CPUs are a lower bound" in suggest(tmp_path, width=200)


def test_a_filter_takes_some_of_the_runs(suggest, suggest_json, tmp_path):
    for name, command in ("a_", "python3 train.py"), ("b_", "python3 test.py"):
        make_run(tmp_path / name, memory=GIB, wall=600 if name == "a_" else 60, top={"command": command},
                 summary={"command": command})
    make_run(tmp_path / "bad_", exit_code=1)
    made = suggest_json("--filter", "command =~ 'train.py'", tmp_path)
    assert made["runs"]["found"] == 1 and made["wall_seconds"]["value"] == 720
    assert suggest_json("-e", "wall < 5m and exit_code == 0", tmp_path)["runs"]["found"] == 1
    assert suggest_json("--filter", "peak_memory_source == proc_hwm_max", tmp_path)["runs"]["found"] == 2
    assert suggest("--filter", "job == nobody", tmp_path, code=1) == ""
    assert "--filter holds for none of 3 runs" in suggest.messages
    assert suggest("--filter", "wall > ", tmp_path, code=2) == "" and "^" in suggest.messages
    assert suggest("--filter", "peak_memory > 3s", tmp_path, code=2) == "" and "is in bytes" in suggest.messages


def test_a_run_that_was_never_started_is_left_out(suggest, suggest_json, tmp_path):
    path = make_run(tmp_path / "a_", exit_code=127, wall=0.01,
                    summary={"num_samples": 0, "cause": "could not be started: x: not found"})
    info = json.loads(path.read_text())
    info["headline"] = {}
    path.write_text(json.dumps(info))
    assert suggest(tmp_path, code=1) == "" and "1 never started" in suggest.messages
    make_run(tmp_path / "b_", memory=GIB, wall=100, exit_code=3)
    made = suggest_json(tmp_path)
    assert (made["runs"]["not_started"], made["runs"]["counted"], made["wall_seconds"]["runs"]) == (1, 1, 1)
    assert "1 left out: 1 was never started" in suggest(tmp_path, width=200)


# Ranks


def test_ranks_are_said_to_be_some_of_a_job(suggest, suggest_json):
    made = suggest_json(RECORDINGS / "metron-ranks")
    infos = [json.loads(path.read_text()) for path in RECORDINGS.glob("metron-ranks/*info.json")]
    peaks = [info["headline"]["peak_memory_bytes"]["value"] for info in infos]
    assert made["together"] == {
        "job": "train", "runs": 3, "memory_bytes": 3 * made["memory_bytes"]["value"], "cpus": 3 * made["cpus"]["value"],
        "held_bytes": sum(peaks),
        "used_cpus": pytest.approx(sum(info["headline"]["cpu_seconds"]["value"]
                                       / info["execution_summary"]["wall_clock_time"] for info in infos))}
    assert "3 runs of job 'train' ran at the same time: these are the numbers of one" in suggest(
        RECORDINGS / "metron-ranks", width=200)


def test_slurm_lines_of_ranks_are_enough_for_all(suggest):
    assert lines_of(suggest("--for", "slurm", RECORDINGS / "metron-ranks")) == [
        "#SBATCH --ntasks=3", "#SBATCH --mem-per-cpu=192M", "#SBATCH --time=00:01:00"]


def test_memory_per_cpu_is_shared_by_the_cpus_of_a_rank(suggest, tmp_path):
    for name in ("a_", "b_"):
        make_run(tmp_path / name, memory=GIB, cpu=30, wall=10, top={"job": "train", **QUIET})
    assert lines_of(suggest("--for", "slurm", tmp_path))[:3] == [
        "#SBATCH --ntasks=2", "#SBATCH --mem-per-cpu=427M", "#SBATCH --cpus-per-task=3"]  # 1280 / 3, rounded up


@pytest.mark.parametrize("how", ["one after the other", "an array", "other jobs", "no job"])
def test_others_are_no_ranks(suggest, suggest_json, tmp_path, how):
    starts = ["2026-11-15T18:00:00+00:00", "2026-11-15T18:00:10+00:00"]
    for i, name in enumerate(("a_", "b_")):
        start = starts[i if how == "one after the other" else 0]
        make_run(tmp_path / name, memory=GIB, wall=10, summary={"start_time": start},
                 top={"job": f"train{i if how == 'other jobs' else ''}", "start_time": start},
                 env={"SLURM_JOB_ID": str(i if how == "an array" else 0)})
        if how == "no job":
            make_run(tmp_path / name, memory=GIB, wall=10)
    assert "together" not in suggest_json(tmp_path)
    assert "--ntasks" not in suggest("--for", "slurm", tmp_path)


def test_con_duct_has_no_cpus(suggest, suggest_json):
    made = suggest_json(RECORDINGS / "duct-0.2.2")
    assert "cpus" not in made and made["memory_bytes"]["runs"] == 1
    text = suggest("--for", "slurm", RECORDINGS / "duct-0.2.2")
    assert "--cpus-per-task" not in text and "--mem=" in text


def test_runs_of_different_programs_are_a_warning(suggest, tmp_path):
    for name, command in ("a_", "/usr/bin/sort x"), ("b_", "sort y"):
        make_run(tmp_path / name, top={"command": command}, summary={"command": command})
    quoted = {"command": "'/usr/bin/sort' 'z'"}
    make_run(tmp_path / "quoted_", top=quoted, summary=quoted)
    assert "different work" not in suggest(tmp_path)
    make_run(tmp_path / "c_", top={"command": "cat \x1b[31m y"}, summary={"command": "cat \x1b[31m y"})
    text = suggest(tmp_path, width=200)
    assert "different work (sort; cat)" in text and "\x1b" not in text


@pytest.mark.parametrize("commands,said", [
    (["python3 a.py 1", "python3 b.py 1"], "(python a.py; python b.py)"),
    (["java -jar a.jar", "java -jar b.jar"], "(java -jar a.jar; java -jar b.jar)"),
    (["mpirun -np 2 ./a", "mpirun -np 4 ./b"], "(a; b)"),
    (["sh -c 'a 1 | b'", "sh -c 'a 1 | c'"], "(sh: a b; sh: a c)"),
    (["python3 a.py 1", "/venv/bin/python3.11 -u a.py 2"], None),
    (["mpirun -np 2 ./a x", "mpirun -np 4 ./a y"], None),
    (["sh -c 'a 1 | b'", "sh -c 'a 2 | b'"], None)])
def test_different_work_of_one_program_is_a_warning(suggest, tmp_path, commands, said):
    for number, command in enumerate(commands):
        make_run(tmp_path / f"{number}_", top={"command": command}, summary={"command": command})
    text = suggest(tmp_path, width=300)
    assert (f"these runs look like different work {said}" in text) if said else ("different work" not in text)
    if said and "a.py" in said:
        assert "--filter \"command =~ 'a.py'\"" in text
        assert "different work" not in suggest("--filter", "command =~ 'a.py'", tmp_path)


# The lines to paste. They were read by sbatch 22.05, Nextflow 24.10's own MemoryUnit and Duration, Snakemake 9.27 and
# kubectl 1.32 when this was written.


@pytest.fixture
def big(tmp_path):
    make_run(tmp_path / "runs" / "a_", memory=40 * GIB + 1, cpu=400000, wall=100000, top=QUIET)
    return tmp_path / "runs"


def lines_of(text, comment="#"):
    return [line for line in text.splitlines()
            if not line.startswith(comment) or line.startswith(("#SBATCH", "#PBS", "#BSUB", "#$"))]


def test_slurm_lines(suggest, big):
    assert lines_of(suggest("--for", "slurm", big)) == [
        "#SBATCH --mem=50176M", "#SBATCH --cpus-per-task=4", "#SBATCH --time=1-09:20:00"]


# Read in the manuals: PBS Pro's pbs_resources(7B), Torque's "Requesting resources", LSF 10.1's bsub, lsf.conf and
# lsb.params, Grid Engine's qsub(1), queue_conf(5) and complex(5).


def test_pbs_lines(suggest, suggest_json, big):
    assert lines_of(suggest("--for", "pbs", big)) == [
        "#PBS -l select=1:ncpus=4:mem=50176mb", "#PBS -l walltime=33:20:00"]
    assert lines_of(suggest("--for", "pbs", RECORDINGS / "metron-ranks")) == [
        "#PBS -l select=3:mem=192mb:mpiprocs=1", "#PBS -l walltime=00:01:00"]
    assert suggest_json("--for", "pbs", big)["assumptions"] == [
        "these lines are for PBS Pro and OpenPBS; Torque takes instead: "
        "-l nodes=1:ppn=4,mem=50176mb,walltime=33:20:00"]


def test_lsf_lines(suggest, suggest_json, big):
    assert lines_of(suggest("--for", "lsf", big)) == [
        "#BSUB -n 4", '#BSUB -R "span[hosts=1] rusage[mem=50176MB]"', "#BSUB -M 50176MB", "#BSUB -W 33:20"]
    assert lines_of(suggest("--for", "lsf", RECORDINGS / "metron-ranks")) == [
        "#BSUB -n 3", '#BSUB -R "span[hosts=1] rusage[mem=576MB]"', "#BSUB -M 576MB", "#BSUB -W 0:01"]
    said = " ".join(suggest_json("--for", "lsf", big)["assumptions"])
    assert "LSF_UNIT_FOR_LIMITS" in said and "RESOURCE_RESERVE_PER_TASK" in said and "all ranks" not in said


def test_sge_lines_have_memory_for_each_slot(suggest, suggest_json, big, tmp_path):
    assert lines_of(suggest("--for", "sge", big)) == ["#$ -pe smp 4", "#$ -l h_vmem=12544M", "#$ -l h_rt=33:20:00"]
    assert lines_of(suggest("--for", "sge", RECORDINGS / "metron-ranks")) == [
        "#$ -pe smp 3", "#$ -l h_vmem=192M", "#$ -l h_rt=00:01:00"]
    said = suggest_json("--for", "sge", big)["assumptions"]
    assert "qconf -spl" in said[0] and "address space" in said[1]
    make_run(tmp_path / "one_", memory=GIB, cpu=10, wall=10)
    assert lines_of(suggest("--for", "sge", tmp_path / "one_"))[0] == "#$ -l h_vmem=1280M"
    assert "qconf" not in suggest("--for", "sge", tmp_path / "one_")


@pytest.mark.parametrize("consumer,lines", [
    ("pbs", ["#PBS -l select=1:mem=128mb", "#PBS -l walltime=00:01:00"]),
    ("lsf", ["#BSUB -n 1", '#BSUB -R "span[hosts=1] rusage[mem=128MB]"', "#BSUB -M 128MB", "#BSUB -W 0:01"]),
    ("sge", ["#$ -l h_vmem=128M", "#$ -l h_rt=00:01:00"])])
def test_without_cpus_a_scheduler_gives_one(suggest, consumer, lines):
    assert lines_of(suggest("--for", consumer, RECORDINGS / "duct-0.2.2")) == lines


def test_nextflow_lines(suggest, big):
    assert lines_of(suggest("--for", "nextflow", big), "//") == [
        "process {", "    memory = '50176 MB'", "    cpus = 4", "    time = '2000 min'", "}"]


def test_snakemake_lines_are_in_its_own_units(suggest, big):
    lines = lines_of(suggest("--for", "snakemake", big))
    assert lines == ["    threads: 4", "    resources:", "        mem_mb=52614,", "        runtime=2000"]
    assert 52614 * 10**6 >= 50176 * MIB > 52613 * 10**6


def test_kubernetes_lines_are_yaml(suggest, big):
    yaml = pytest.importorskip("yaml")
    text = suggest("--for", "k8s", big)
    assert yaml.safe_load(text) == {"resources": {"requests": {"cpu": "4", "memory": "50176Mi"},
                                                  "limits": {"memory": "50176Mi"}}}
    assert "activeDeadlineSeconds: 120000" in text


@pytest.mark.parametrize("consumer,comment", [
    ("slurm", "#"), ("pbs", "#"), ("lsf", "#"), ("sge", "#"), ("nextflow", "//"), ("snakemake", "#"), ("k8s", "#")])
def test_all_that_is_said_is_in_comments_without_colour(suggest, tmp_path, consumer, comment):
    make_run(tmp_path / "a_", memory=GIB, top={"command": "a\nb c", **QUIET})
    make_run(tmp_path / "b_", memory=GIB, exit_code=1, top={"command": "x y"})
    text = suggest("--for", consumer, "--colors", "always", tmp_path)
    assert "\x1b" not in text
    head = text.split("SBATCH" if consumer == "slurm" else "process {" if consumer == "nextflow"
                      else "    threads" if consumer == "snakemake" else "resources:")[0]
    assert all(line.startswith(comment) for line in head.splitlines())


# Bad input


def test_no_run_is_wrong_usage(suggest):
    assert suggest(code=2) == ""
    assert "metron suggest .metron/logs/" in suggest.messages


def test_a_folder_without_runs_is_said_to_have_none(suggest, tmp_path):
    (tmp_path / "empty").mkdir()
    assert suggest(tmp_path / "empty", code=1) == ""
    assert f"no recorded run lies in '{tmp_path}/empty'" in suggest.messages


def test_a_margin_is_a_number_of_percent(suggest):
    assert suggest("--margin", "50%", "x", code=2) == ""
    assert "'50%' is not a number of percent, like 50" in suggest.messages


def test_missing_runs_are_named_and_the_others_still_told(suggest, tmp_path):
    make_run(tmp_path / "a_", memory=GIB)
    assert "1.25 GiB" in suggest(tmp_path / "nothing-there", tmp_path, code=1)
    assert "nothing-there" in suggest.messages


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 500, b'{"metron_version": "1", "schema_ver', b"[]",
                                     b'{"metron_version": "9.0", "schema_version": "9.0"}'])
def test_damaged_runs_are_named_counted_and_left_out(suggest, tmp_path, content):
    make_run(tmp_path / "runs" / "a_", memory=GIB)
    (tmp_path / "runs" / "b_info.json").write_bytes(content)
    text = suggest(tmp_path / "runs", code=1, width=200)
    assert "1.25 GiB" in text and "1 could not be read" in text
    assert "b_info.json" in suggest.messages
    made = json.loads(suggest("--json", tmp_path / "runs", code=1))
    assert made["runs"]["unreadable"] == 1 and made["runs"]["found"] == 2


def test_runs_that_have_not_ended_suggest_nothing(suggest):
    assert suggest(RECORDINGS / "metron-lost", code=1) == ""
    assert "nothing to suggest from" in suggest.messages


def test_a_run_that_may_not_be_read_is_named(run_as_user, tmp_path):
    folder = pathlib.Path(run_as_user.cwd)
    make_run(folder / "a_", memory=GIB).chmod(0o644)
    make_run(folder / "b_", memory=GIB).chmod(0)
    if os.getuid() != 0:
        pytest.skip("only root can make a file that its user may not read and still clean up")
    done = run_as_user.metron(["suggest", str(folder)])
    assert done.returncode == 1
    assert "b_info.json" in done.message and b"1.25 GiB" in done.stdout


def test_absurd_numbers_are_no_measurements(suggest_json, tmp_path):
    make_run(tmp_path / "a_", memory=1e300, wall=-5)
    made = suggest_json(tmp_path)
    assert "memory_bytes" not in made and "wall_seconds" not in made


def test_help_tells_the_rules(run_metron):
    text = " ".join(run_metron.metron("suggest --help").stdout.decode().split())
    for words in ("99th percentile", "90 % of the runs", "1.5 times", "--filter", "--for", "metron suggest --for slurm"):
        assert words in text
