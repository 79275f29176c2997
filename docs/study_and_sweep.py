"""A study, a sweep and a plot. The plot needs the extra `report`."""

import advisor

study = advisor.tune("linkbench", memory="2GiB", data="8GiB", trials=40, name="study")
print(study.explain())
study.export("mysql-8.4", "my.cnf")

sweep = advisor.sweep("linkbench", "memory=1GiB..8GiB", data="8GiB", steps=4, name="sweep")
print(sweep.crossovers(), sweep.best("lsm"))
sweep.plot().save("memory.svg")
