"""What is printed where, and the rate on a device with a virtual clock."""

import json

from runtime.comm import World
from runtime.train.metrics import Console, StepMetrics, Stopwatch

METRICS = StepMetrics(step=2, loss=0.5, samples_per_s=10.0, device="d", lr=0.1, grad_norm=None)


class Virtual:
    def __init__(self):
        self.seconds = 0.0

    def clock(self):
        return self.seconds

    def synchronize(self):
        pass


def test_json_goes_to_stdout_and_remarks_to_stderr(capsys):
    console = Console(World(), as_json=True, steps=3)
    console.step(METRICS)
    console.remark("saved")
    shown = capsys.readouterr()
    expected = {"step": 2, "loss": 0.5, "samples_per_s": 10.0, "device": "d", "lr": 0.1, "grad_norm": None}
    assert json.loads(shown.out) == expected and shown.err == "saved\n"


def test_people_read_stderr(capsys):
    Console(World(), as_json=False, steps=3).step(METRICS)
    shown = capsys.readouterr()
    assert shown.out == "" and "step 2/3  loss 0.5" in shown.err


def test_only_the_first_process_speaks(capsys):
    console = Console(World(rank=1, size=2), as_json=True, steps=3)
    console.step(METRICS)
    console.remark("saved")
    assert capsys.readouterr() == ("", "")


def test_the_rate_is_of_the_devices_own_time():
    device = Virtual()
    watch = Stopwatch(device)
    watch.count(6)
    device.seconds = 3.0
    assert watch.rate() == 2.0
    watch.count(8)
    device.seconds = 4.0
    assert watch.rate() == 8.0
