"""When a run is sampled and recorded, with intervals that were set and without."""

import csv
import io
import subprocess

from support.held import await_records


def test_without_an_interval_the_first_sample_has_a_record(run_metron):
    run = run_metron.start("", "cat", stdin=subprocess.PIPE)
    first = await_records(run, 1)[0]
    assert first["num_samples"] == 1 and first["measurements"]["proc_rss_total"] > 0
    await_records(run, 12)
    done = run.finish()
    provenance = done.info["provenance"]
    assert provenance["sample_interval"] == 1
    assert provenance["sample_interval_auto"] and provenance["report_interval_auto"]
    assert provenance["report_interval"] >= 0.2
    # PSS keeps its own interval, five seconds; it is read again at once where the tree changed during a reading.
    readings = sum("smaps_pss_total" in record["measurements"] for record in done.usage)
    assert 1 <= readings <= 4 + done.usage[-1]["elapsed"] / 4.5


def test_an_interval_that_was_set_is_kept(run_metron):
    """Whatever the other one is: one alone may be set."""
    run = run_metron("--report-interval 60", "sleep 0.7")
    assert len(run.usage) == 1
    provenance = run.info["provenance"]
    assert (provenance["report_interval"], provenance["report_interval_auto"]) == (60, False)
    assert provenance["sample_interval_auto"]
    run = run_metron("--sample-interval 30 --clobber", "sleep 0.7")
    assert run.info["provenance"]["sample_interval"] == 30 and not run.info["provenance"]["sample_interval_auto"]


def test_csv_holds_the_newest_reading_of_pss(run_metron):
    """It is read less often than records are written: smaps_age says which rows have a reading of their own."""
    started = run_metron.start("--sample-interval 0.05 --report-interval 0.05 --smaps-interval 60", "cat",
                               stdin=subprocess.PIPE)
    await_records(started, 8)
    run = started.finish()
    assert run.info["provenance"]["collectors"]["smaps"]["interval"] == 60
    rows = list(csv.DictReader(io.StringIO(run_metron.metron("export run_").stdout.decode())))
    read = ["smaps_pss_total" in record["measurements"] for record in run.usage]
    first = read.index(True)
    assert len(rows) == len(read) and not all(read)
    for row, is_read in zip(rows[first:], read[first:]):
        assert float(row["smaps_pss_total"]) > 0 and (float(row["smaps_age"]) == 0) == is_read
