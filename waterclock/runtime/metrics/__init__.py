"""What an app is doing, in figures, and what is wrong with it.

``figures`` says what there is to know; ``windows``, ``stragglers`` and ``alerts`` are pure: counts in, numbers out.
``observed`` is what only the running process can know, in a small file for other processes; ``gather`` puts it together
with the catalog, which any process can read. ``watch`` looks once a second, off the critical path. ``prometheus`` and
``serve`` are outputs; the command line has the others.
"""
