"""metron report of many processes: the instructions it takes for each."""

import shutil

from support import instructions, made_runs

FEW, MANY = 1000, 4000


def instructions_per_process(runner, count):
    folder = runner.cwd / str(count)
    shutil.copytree(made_runs.RECORDINGS / "metron-ended", folder)
    made_runs.write_ended_processes(folder / "events.jsonl", count)
    return instructions.of_command([runner.binary, "report", "--json", f"{folder}/"], runner.environment()) / count


def test_more_processes_do_not_raise_the_cost_of_each(run_metron):
    few, many = (instructions_per_process(run_metron, count) for count in (FEW, MANY))
    assert many < 1.05 * few
