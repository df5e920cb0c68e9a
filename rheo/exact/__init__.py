"""What the algorithm does exactly: distributions by enumeration in worlds of a few tokens, one node
as a transport problem, and a recorded node under other settings. Worlds, nodes or traces come in;
plain records of numbers go out. No model runs here, and importing this loads no torch.

Read worlds (a target and a draft as tables), forced_draws (uniforms that force a probe), audit (the
exact law of a round) with vector_files (files of cases for it), biased (planted mistakes),
comparison (audits side by side), monte_carlo (rounds played at random); coupling and transport (one
node); scenarios (the shipped examples); tempered_target and what_if (a node of a trace under other
settings).
"""
