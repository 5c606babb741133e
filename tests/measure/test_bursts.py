"""Four threads that burn in bursts, sampled every 100 ms: each interval's rate is the truth within two ticks."""

from support import rates

THREADS, BURSTS, BURST, GAP = 4, 3, 0.35, 0.4
INTERVAL = 0.1


def test_rates_are_within_two_ticks_and_bursts_at_the_right_time(run_metron):
    path = run_metron.cwd / "truth"
    run = run_metron(f"--sample-interval {INTERVAL} --report-interval {INTERVAL}",
                     [run_metron.workload("bursts"), str(path), str(THREADS), str(BURSTS), str(BURST), str(GAP)])
    assert run.returncode == 0, run
    truth = rates.Truth(path)
    assert len(truth.threads) == THREADS
    assert rates.check_rates(run, truth, INTERVAL, lambda record: record["measurements"].get("proc_pdcpu_total")) >= 5
    rates.check_sum(run, truth, INTERVAL)
