import time
from tests.factories import *
from tests.store.scenes import *
def test_many(database):
    many = tuple(a_finding(f"link {n}", paths=[f"link-{n}"]) for n in range(5000))
    t=time.time(); task = a_task_at_gate(database, GateKind.finding, findings=many); print("settle", time.time()-t)
    t=time.time(); q = approved(database, task, dismiss_all=True, reason="harmless"); print("approve", time.time()-t)
