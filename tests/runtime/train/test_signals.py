"""The first signal is a wish, the second is obeyed at once, and handlers are put back."""

import os
import signal
import subprocess
import sys

import pytest

from runtime.train.signals import StopRequest


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_is_a_wish(number):
    before = signal.getsignal(number)
    with StopRequest() as request:
        assert not request.wanted
        os.kill(os.getpid(), number)
        assert request.wanted and request.name == number.name
    assert signal.getsignal(number) is before


TWICE = """
import os, signal
from runtime.train.signals import StopRequest
with StopRequest():
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    print("still here")
"""


def test_the_second_signal_ends_the_process():
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True)
    assert done.returncode == -signal.SIGTERM and done.stdout == ""
