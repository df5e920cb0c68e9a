"""The visitors of a server and the one model that they share.

In come a prompt, a pair and settings from a page; out go messages for its viewer, a round at a
time. `model_loader` holds the one loaded pair and `queue` lets one visitor at a time have it;
`session` runs one visitor's prompt by `live_run`, on a Space's GPU where `zero_gpu` finds one;
`run_store` knows the recorded runs and publishes them as files, `kept_runs` keeps visitors' own,
`pair_needs` what a pair costs, `run_settings` the order and the ranges of the settings,
`reference_speed` and `this_machine` what was measured here. Read session first.
"""
